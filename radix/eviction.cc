#include "radix/eviction.h"

#include "base/check.h"

namespace banyan::radix {
namespace {

constexpr std::uint32_t kAbsent = UINT32_MAX;

}  // namespace

void LruEviction::Insert(std::uint32_t leaf, std::uint64_t last_use) {
  if (leaf >= position_.size()) position_.resize(std::size_t{leaf} + 1, kAbsent);
  CHECK(position_[leaf] == kAbsent);
  heap_.emplace_back();
  SiftUp(heap_.size() - 1, {last_use, leaf});
}

void LruEviction::Erase(std::uint32_t leaf) {
  CHECK(leaf < position_.size() && position_[leaf] != kAbsent);
  const std::size_t at = position_[leaf];
  position_[leaf] = kAbsent;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  if (at > 0 && Before(last, heap_[(at - 1) / 2])) {
    SiftUp(at, last);
  } else {
    SiftDown(at, last);
  }
}

std::uint32_t LruEviction::Victim() const {
  CHECK(!heap_.empty());
  return heap_.front().leaf;
}

bool LruEviction::Contains(std::uint32_t leaf, std::uint64_t last_use) const {
  if (leaf >= position_.size() || position_[leaf] == kAbsent) return false;
  const Entry& entry = heap_[position_[leaf]];
  return entry.leaf == leaf && entry.last_use == last_use;
}

void LruEviction::Place(std::size_t at, const Entry& entry) {
  heap_[at] = entry;
  position_[entry.leaf] = static_cast<std::uint32_t>(at);
}

void LruEviction::SiftUp(std::size_t at, const Entry& entry) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!Before(entry, heap_[parent])) break;
    Place(at, heap_[parent]);
    at = parent;
  }
  Place(at, entry);
}

void LruEviction::SiftDown(std::size_t at, const Entry& entry) {
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && Before(heap_[child + 1], heap_[child])) ++child;
    if (!Before(heap_[child], entry)) break;
    Place(at, heap_[child]);
    at = child;
  }
  Place(at, entry);
}

}  // namespace banyan::radix
