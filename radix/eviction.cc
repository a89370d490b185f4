#include "radix/eviction.h"

#include "base/check.h"

namespace banyan::radix {

void LruEviction::Insert(std::uint32_t leaf, std::uint64_t last_use) {
  CHECK(leaves_.emplace(last_use, leaf).second);
}

void LruEviction::Erase(std::uint32_t leaf, std::uint64_t last_use) {
  CHECK(leaves_.erase({last_use, leaf}) == 1);
}

std::uint32_t LruEviction::Victim() const {
  CHECK(!leaves_.empty());
  return leaves_.begin()->second;
}

std::size_t LruEviction::Victims(std::span<std::uint32_t> leaves) const {
  std::size_t size = 0;
  for (auto at = leaves_.begin(); at != leaves_.end() && size < leaves.size(); ++at) {
    leaves[size++] = at->second;
  }
  return size;
}

bool LruEviction::Contains(std::uint32_t leaf, std::uint64_t last_use) const {
  return leaves_.contains({last_use, leaf});
}

}  // namespace banyan::radix
