// The names of namespaces, their roots, and which of them are empty. Names come from requests, so
// that there may be any number of them: of the empty ones a bounded number is kept.
//
// Internal to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "radix/node.h"

namespace banyan::radix {

class Namespaces {
 public:
  explicit Namespaces(std::int32_t max_empty);

  std::optional<NamespaceId> Find(std::string_view name) const;
  // The name is new. Its namespace is empty.
  NamespaceId Add(std::string_view name, NodeIndex root);

  NodeIndex Root(NamespaceId id) const;  // which is known
  bool IsRoot(NodeIndex node) const { return by_root_.contains(node); }
  // `root` takes the place of the one that was.
  void ReplaceRoot(NamespaceId id, NodeIndex root);
  // Of the namespace that has this root, if one has.
  void SetEmpty(NodeIndex root, bool empty);
  // While more are empty than are kept: forgets the one that has been for the longest time, and
  // returns its root, the caller's to remove.
  std::optional<NodeIndex> ForgetOldest();

  std::size_t size() const { return by_name_.size(); }

 private:
  friend class Audit;     // the invariant checker
  friend class TreePeer;  // the checker's tests

  using Place = std::uint32_t;
  static constexpr Place kNoPlace = UINT32_MAX;
  struct Entry {
    std::string name;  // at the same address while it is known
    NodeIndex root = kNoNode;
    std::uint32_t generation = 0;  // counts up when the place is given back
    bool is_empty = false;
    Place older = kNoPlace;  // in the list of empty ones
    Place newer = kNoPlace;
  };

  // An id is a place and its generation, so that one that outlived its namespace is found out.
  static Place PlaceOf(NamespaceId id) { return static_cast<Place>(id); }
  NamespaceId IdOf(Place place) const {
    return static_cast<NamespaceId>(std::uint64_t{entries_[place].generation} << 32 | place);
  }
  void ListEmpty(Place place);
  void UnlistEmpty(Place place);

  const std::size_t max_empty_;
  std::deque<Entry> entries_;
  std::vector<Place> free_;
  absl::flat_hash_map<absl::string_view, Place> by_name_;  // views of Entry::name
  absl::flat_hash_map<NodeIndex, Place> by_root_;
  Place oldest_ = kNoPlace;  // of the empty ones
  Place newest_ = kNoPlace;
  std::size_t empty_ = 0;
};

}  // namespace banyan::radix
