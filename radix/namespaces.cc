#include "radix/namespaces.h"

#include "base/check.h"

namespace banyan::radix {
namespace {

absl::string_view Key(std::string_view name) { return {name.data(), name.size()}; }

}  // namespace

Namespaces::Namespaces(std::int32_t max_empty) : max_empty_(static_cast<std::size_t>(max_empty)) {
  CHECK(max_empty >= 1);  // the one that was just made
}

std::optional<NamespaceId> Namespaces::Find(std::string_view name) const {
  const auto entry = by_name_.find(Key(name));
  if (entry == by_name_.end()) return std::nullopt;
  return IdOf(entry->second);
}

NamespaceId Namespaces::Add(std::string_view name, NodeIndex root) {
  Place place;
  if (free_.empty()) {
    place = static_cast<Place>(entries_.size());
    CHECK(place != kNoPlace);
    entries_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[place];
  entry.name = name;
  entry.root = root;
  CHECK(by_name_.emplace(Key(entry.name), place).second);
  CHECK(by_root_.emplace(root, place).second);
  ListEmpty(place);
  return IdOf(place);
}

NodeIndex Namespaces::Root(NamespaceId id) const {
  const Place place = PlaceOf(id);
  CHECK(place < entries_.size() && IdOf(place) == id);
  const NodeIndex root = entries_[place].root;
  CHECK(root != kNoNode);
  return root;
}

void Namespaces::ReplaceRoot(NamespaceId id, NodeIndex root) {
  by_root_.erase(Root(id));
  entries_[PlaceOf(id)].root = root;
  CHECK(by_root_.emplace(root, PlaceOf(id)).second);
}

void Namespaces::SetEmpty(NodeIndex root, bool empty) {
  const auto entry = by_root_.find(root);
  if (entry == by_root_.end() || entries_[entry->second].is_empty == empty) return;
  if (empty) {
    ListEmpty(entry->second);
  } else {
    UnlistEmpty(entry->second);
  }
}

std::optional<NodeIndex> Namespaces::ForgetOldest() {
  if (empty_ <= max_empty_) return std::nullopt;
  const Place place = oldest_;
  UnlistEmpty(place);
  Entry& entry = entries_[place];
  const NodeIndex root = entry.root;
  by_name_.erase(Key(entry.name));
  by_root_.erase(root);
  entry = Entry{.name = {}, .generation = entry.generation + 1};
  free_.push_back(place);
  return root;
}

void Namespaces::ListEmpty(Place place) {
  Entry& entry = entries_[place];
  entry.is_empty = true;
  entry.older = newest_;
  (newest_ == kNoPlace ? oldest_ : entries_[newest_].newer) = place;
  newest_ = place;
  ++empty_;
}

void Namespaces::UnlistEmpty(Place place) {
  Entry& entry = entries_[place];
  entry.is_empty = false;
  (entry.older == kNoPlace ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNoPlace ? newest_ : entries_[entry.newer].older) = entry.older;
  entry.older = entry.newer = kNoPlace;
  --empty_;
}

}  // namespace banyan::radix
