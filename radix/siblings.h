// The children of one node, in the lexicographic order of their first pages.
//
// They are filed under two tokens, so that nearly every question is decided without a look at a
// child. Those that share both are a group of their own, filed under the next pair of tokens in
// which they differ:
//
//      1 2 | c                   c begins with 1 2
//      3 4 | 3 4 5 6             all that begin with 3 4 begin with 3 4 5 6
//               7 8 | d          d begins with 3 4 5 6 7 8
//               7 9 | e
//      5 . | f                   f is a page of one token
//
// So a million children that begin with the same eight tokens are found as quickly as a million
// that differ at once. At most half a page of groups lie in one another.
//
// Internal to this room.
#pragma once

#include <cstdint>
#include <span>

#include "absl/container/btree_map.h"
#include "base/ids.h"

namespace banyan::radix {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = UINT32_MAX;

class NodeTable;

class Siblings {
 public:
  Siblings() = default;
  Siblings(const Siblings&) = delete;
  Siblings& operator=(const Siblings&) = delete;
  ~Siblings();

  bool empty() const { return entries_.empty(); }
  // `child`, whose first page is no prefix of another's, nor another's of it.
  void Insert(const NodeTable& nodes, NodeIndex child);
  // `child` is here, under the tokens that it still has.
  void Erase(const NodeTable& nodes, NodeIndex child);
  // `by` has the same first page as `child`, and takes its place.
  void Replace(const NodeTable& nodes, NodeIndex child, NodeIndex by);

  // One of those that share the longest run with `tokens`, which are at least one and at most a
  // page. kNoNode when none has the first token.
  struct Best {
    NodeIndex child;
    std::int32_t common;
  };
  Best Find(const NodeTable& nodes, std::span<const TokenId> tokens) const;

  // In order.
  template <class F>
  void ForEach(F f) const {
    for (const auto& [key, target] : entries_) {
      if (target.group() != nullptr) {
        target.group()->ForEach(f);
      } else {
        f(target.child());
      }
    }
  }
  // Whether everything here is where it would be looked for (for the invariant checker).
  bool IsSound(const NodeTable& nodes) const;

 private:
  // A child, or a group.
  class Target {
   public:
    explicit Target(NodeIndex child) : bits_(std::uint64_t{child} << 1 | 1) {}
    explicit Target(Siblings* group) : bits_(reinterpret_cast<std::uintptr_t>(group)) {}
    NodeIndex child() const { return static_cast<NodeIndex>(bits_ >> 1); }
    Siblings* group() const {
      return (bits_ & 1) != 0 ? nullptr : reinterpret_cast<Siblings*>(bits_);
    }

   private:
    std::uint64_t bits_;
  };

  explicit Siblings(std::int32_t depth) : depth_(depth) {}
  std::uint64_t KeyOf(std::span<const TokenId> page) const;
  Target& At(std::span<const TokenId> page);
  void InsertAt(Target& target, const NodeTable& nodes, NodeIndex child);
  // After any change here.
  void SetFirst();
  static NodeIndex FirstOf(Target target);

  std::int32_t depth_ = 0;  // tokens that all here share, whole pairs
  NodeIndex first_ = kNoNode;
  absl::btree_map<std::uint64_t, Target> entries_;
};

}  // namespace banyan::radix
