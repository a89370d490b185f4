// A place where siblings part: a node of the adaptive radix tree that `Siblings` is.
//
// All below a fork have the same bytes before byte `depth` of their first pages (tokens in order,
// each with its high byte first), and that byte tells them apart. Few entries lie in no order and
// are searched, 256 places are looked up:
//
//      packed   | depth, count, capacity | before | 7 3 9 _ | a b c _ |        4 to 48 entries
//      direct   | depth, count, 256      | before | _ _ _ b _ _ _ a _ c ... |
//
// What precedes the byte in its token, and the token before that one, are kept here, so that most
// paths are followed without a look at a child.
//
// Internal to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "radix/blocks.h"

namespace banyan::radix {

using NodeIndex = std::uint32_t;

inline constexpr std::int32_t kTokenBytes = sizeof(TokenId);

inline std::uint8_t ByteAt(std::span<const TokenId> page, std::int32_t depth) {
  const auto token = static_cast<std::uint32_t>(page[static_cast<std::size_t>(depth / 4)]);
  return static_cast<std::uint8_t>(token >> (24 - depth % 4 * 8));
}

class Fork {
 public:
  // A child, or a fork, or nothing. Owns nothing.
  class Target {
   public:
    Target() = default;
    explicit Target(NodeIndex child) : bits_(std::uint64_t{child} << 1 | 1) {}
    explicit Target(Fork* fork) : bits_(reinterpret_cast<std::uintptr_t>(fork)) {}
    bool empty() const { return bits_ == 0; }
    NodeIndex child() const { return static_cast<NodeIndex>(bits_ >> 1); }
    Fork* fork() const { return (bits_ & 1) != 0 ? nullptr : reinterpret_cast<Fork*>(bits_); }
    friend bool operator==(Target, Target) = default;

   private:
    std::uint64_t bits_ = 0;
  };
  struct Entry {
    std::uint8_t byte;
    Target target;
  };

  // The 4 to 8 bytes before byte `depth` of a page: of its token, and the token before.
  static std::uint64_t Before(std::span<const TokenId> page, std::int32_t depth);

  // A new fork at `depth`, of two pages or more that begin as `page` does.
  static Fork* Make(Blocks& blocks, std::span<const TokenId> page, std::int32_t depth);
  static void Delete(Blocks& blocks, Fork* fork);  // not what it leads to
  // `byte` is not here (is here); the fork may move, and is where the result says.
  [[nodiscard]] static Fork* Add(Blocks& blocks, Fork* fork, std::uint8_t byte, Target target);
  [[nodiscard]] static Fork* Remove(Blocks& blocks, Fork* fork, std::uint8_t byte);

  std::int32_t depth() const { return depth_; }
  std::uint64_t before() const { return before_; }
  std::int32_t count() const { return count_; }
  std::int32_t capacity() const { return capacity_; }

  Target* Find(std::uint8_t byte);  // null when it is not here
  // Says that Find comes next: the lines of a packed fork need not be waited for one by one.
  void Prefetch() const;
  Target Any() const;                  // always the same between two changes
  std::vector<Entry> Entries() const;  // in order of their bytes
  // Whether count and capacity are what they should be (for the invariant checker).
  bool IsSound() const;

 private:
  static constexpr std::int32_t kDirect = 256;

  Fork(std::int32_t depth, std::uint64_t before, std::int32_t capacity);
  static Fork* New(Blocks& blocks, std::int32_t depth, std::uint64_t before, std::int32_t capacity);
  static Fork* Moved(Blocks& blocks, Fork* fork, std::int32_t capacity);
  void Put(std::uint8_t byte, Target target);  // there is room
  std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }
  Target* targets();
  const Target* targets() const { return const_cast<Fork*>(this)->targets(); }

  std::uint16_t depth_;
  std::uint16_t count_ = 0;
  std::uint16_t capacity_;
  std::uint64_t before_;
};

}  // namespace banyan::radix
