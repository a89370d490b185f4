#include "radix/eviction_index.h"

#include "base/check.h"

namespace banyan::radix {

void EvictionIndex::Insert(std::uint32_t leaf, Rank rank) {
  CHECK(leaves_.emplace(rank, leaf).second);
}

void EvictionIndex::Erase(std::uint32_t leaf, Rank rank) {
  CHECK(leaves_.erase({rank, leaf}) == 1);
}

std::uint32_t EvictionIndex::Victim() const {
  CHECK(!leaves_.empty());
  return leaves_.begin()->second;
}

std::size_t EvictionIndex::Victims(std::span<std::uint32_t> leaves) const {
  std::size_t size = 0;
  for (auto at = leaves_.begin(); at != leaves_.end() && size < leaves.size(); ++at) {
    leaves[size++] = at->second;
  }
  return size;
}

bool EvictionIndex::Contains(std::uint32_t leaf, Rank rank) const {
  return leaves_.contains({rank, leaf});
}

}  // namespace banyan::radix
