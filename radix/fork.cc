#include "radix/fork.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>

#include "base/check.h"

namespace banyan::radix {
namespace {

constexpr std::int32_t kCapacities[] = {4, 8, 16, 24, 32, 48, 256};

std::int32_t Larger(std::int32_t capacity) {
  return *std::ranges::upper_bound(kCapacities, capacity);
}

// Zero for the smallest.
std::int32_t Smaller(std::int32_t capacity) {
  const auto at = std::ranges::lower_bound(kCapacities, capacity);
  return at == std::begin(kCapacities) ? 0 : *std::prev(at);
}

// Three quarters full, so that a fork does not go back and forth between two capacities.
bool FitsWell(std::int32_t count, std::int32_t capacity) { return 4 * count <= 3 * capacity; }

// The bytes of a packed fork's entries, in whole words.
std::size_t RoundedUp(std::int32_t capacity) {
  return (static_cast<std::size_t>(capacity) + 7) / 8 * 8;
}

std::size_t Bytes(std::int32_t capacity) {
  return sizeof(Fork) + (capacity == 256 ? 0 : RoundedUp(capacity)) +
         static_cast<std::size_t>(capacity) * sizeof(Fork::Target);
}

}  // namespace

std::uint64_t Fork::Before(std::span<const TokenId> page, std::int32_t depth) {
  const auto at = static_cast<std::size_t>(depth / kTokenBytes);
  const std::uint64_t previous = at > 0 ? static_cast<std::uint32_t>(page[at - 1]) : 0;
  const std::int32_t after = 8 * (kTokenBytes - depth % kTokenBytes);  // bits
  return (previous << 32 | static_cast<std::uint32_t>(page[at])) >> after << after;
}

Fork::Fork(std::int32_t depth, std::uint64_t before, std::int32_t capacity)
    : depth_(static_cast<std::uint16_t>(depth)),
      capacity_(static_cast<std::uint16_t>(capacity)),
      before_(before) {
  if (capacity == kDirect) std::uninitialized_default_construct_n(targets(), kDirect);
}

Fork::Target* Fork::targets() {
  return reinterpret_cast<Target*>(bytes() + (capacity_ == kDirect ? 0 : RoundedUp(capacity_)));
}

Fork* Fork::New(Blocks& blocks, std::int32_t depth, std::uint64_t before, std::int32_t capacity) {
  return new (blocks.Allocate(Bytes(capacity))) Fork(depth, before, capacity);
}

Fork* Fork::Make(Blocks& blocks, std::span<const TokenId> page, std::int32_t depth) {
  return New(blocks, depth, Before(page, depth), kCapacities[0]);
}

void Fork::Delete(Blocks& blocks, Fork* fork) { blocks.Free(fork, Bytes(fork->capacity_)); }

Fork* Fork::Moved(Blocks& blocks, Fork* fork, std::int32_t capacity) {
  Fork* const to = New(blocks, fork->depth_, fork->before_, capacity);
  if (fork->capacity_ == kDirect) {
    for (std::int32_t byte = 0; byte < kDirect; ++byte) {
      const Target target = fork->targets()[byte];
      if (!target.empty()) to->Put(static_cast<std::uint8_t>(byte), target);
    }
  } else {
    for (std::int32_t i = 0; i < fork->count_; ++i) to->Put(fork->bytes()[i], fork->targets()[i]);
  }
  Delete(blocks, fork);
  return to;
}

void Fork::Put(std::uint8_t byte, Target target) {
  if (capacity_ == kDirect) {
    targets()[byte] = target;
  } else {
    bytes()[count_] = byte;
    targets()[count_] = target;
  }
  ++count_;
}

Fork* Fork::Add(Blocks& blocks, Fork* fork, std::uint8_t byte, Target target) {
  DCHECK(fork->Find(byte) == nullptr);
  if (fork->count_ == fork->capacity_) fork = Moved(blocks, fork, Larger(fork->capacity_));
  fork->Put(byte, target);
  return fork;
}

Fork* Fork::Remove(Blocks& blocks, Fork* fork, std::uint8_t byte) {
  Target* const target = fork->Find(byte);
  CHECK(target != nullptr);
  --fork->count_;
  if (fork->capacity_ == kDirect) {
    *target = Target();
  } else {  // the last one takes its place
    const auto at = target - fork->targets();
    fork->bytes()[at] = fork->bytes()[fork->count_];
    *target = fork->targets()[fork->count_];
  }
  const std::int32_t smaller = Smaller(fork->capacity_);
  return FitsWell(fork->count_, smaller) ? Moved(blocks, fork, smaller) : fork;
}

Fork::Target* Fork::Find(std::uint8_t byte) {
  if (capacity_ == kDirect) {
    Target* const target = targets() + byte;
    return target->empty() ? nullptr : target;
  }
  const void* const at = std::memchr(bytes(), byte, count_);
  if (at == nullptr) return nullptr;
  return targets() + (static_cast<const std::uint8_t*>(at) - bytes());
}

void Fork::Prefetch() const {
  constexpr std::size_t kLine = 64;
  for (std::size_t line = 0; line < 4; ++line) {
    __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + line * kLine);
  }
}

Fork::Target Fork::Any() const {
  if (capacity_ != kDirect) return targets()[0];
  return *std::find_if(targets(), targets() + kDirect, [](Target t) { return !t.empty(); });
}

std::vector<Fork::Entry> Fork::Entries() const {
  std::vector<Entry> entries;
  entries.reserve(count_);
  if (capacity_ == kDirect) {
    for (std::int32_t byte = 0; byte < kDirect; ++byte) {
      const Target target = targets()[byte];
      if (!target.empty()) entries.push_back({static_cast<std::uint8_t>(byte), target});
    }
  } else {
    for (std::int32_t i = 0; i < count_; ++i) entries.push_back({bytes()[i], targets()[i]});
    std::ranges::sort(entries, {}, &Entry::byte);
  }
  return entries;
}

bool Fork::IsSound() const {
  if (std::ranges::find(kCapacities, capacity_) == std::end(kCapacities) || count_ < 2 ||
      count_ > capacity_ || FitsWell(count_, Smaller(capacity_))) {
    return false;
  }
  const std::vector<Entry> all = Entries();
  return all.size() == count_ &&
         std::ranges::none_of(all, [](const Entry& entry) { return entry.target.empty(); }) &&
         std::ranges::adjacent_find(all, {}, &Entry::byte) == all.end();
}

}  // namespace banyan::radix
