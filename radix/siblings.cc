#include "radix/siblings.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/check.h"
#include "base/common_length.h"
#include "radix/node.h"

namespace banyan::radix {

Siblings::~Siblings() {
  for (const auto& [key, target] : entries_) delete target.group();
}

// Where one token follows and where it is followed by a zero, the key is the same. One of these is
// a prefix of the other, so that they are not both here.
std::uint64_t Siblings::KeyOf(std::span<const TokenId> page) const {
  const auto at = static_cast<std::size_t>(depth_);
  const std::uint64_t first = static_cast<std::uint32_t>(page[at]);
  const std::uint64_t second = at + 1 < page.size() ? static_cast<std::uint32_t>(page[at + 1]) : 0;
  return first << 32 | second;
}

NodeIndex Siblings::FirstOf(Target target) {
  return target.group() != nullptr ? target.group()->first_ : target.child();
}

void Siblings::SetFirst() {
  first_ = entries_.empty() ? kNoNode : FirstOf(entries_.begin()->second);
}

Siblings::Target& Siblings::At(std::span<const TokenId> page) {
  const auto entry = entries_.find(KeyOf(page));
  CHECK(entry != entries_.end());
  return entry->second;
}

void Siblings::Insert(const NodeTable& nodes, NodeIndex child) {
  const std::span<const TokenId> page = nodes[child].edge.first_page();
  const auto [entry, is_new] = entries_.try_emplace(KeyOf(page), child);
  if (!is_new) InsertAt(entry->second, nodes, child);
  SetFirst();
}

// `target` is filed under the same two tokens as `child`.
void Siblings::InsertAt(Target& target, const NodeTable& nodes, NodeIndex child) {
  const std::span<const TokenId> page = nodes[child].edge.first_page();
  const std::span<const TokenId> other = nodes[FirstOf(target)].edge.first_page();
  const auto common = static_cast<std::int32_t>(CommonLength(other, page));
  CHECK(common < static_cast<std::int32_t>(std::min(other.size(), page.size())));
  if (target.group() != nullptr && target.group()->depth_ <= common) {
    target.group()->Insert(nodes, child);
    return;
  }
  std::unique_ptr<Siblings> group(new Siblings(common / 2 * 2));
  group->entries_.emplace(group->KeyOf(other), target);
  group->entries_.emplace(group->KeyOf(page), child);
  group->SetFirst();
  target = Target(group.release());
}

void Siblings::Erase(const NodeTable& nodes, NodeIndex child) {
  const std::span<const TokenId> page = nodes[child].edge.first_page();
  Target& target = At(page);
  if (Siblings* const group = target.group(); group == nullptr) {
    CHECK(target.child() == child);
    entries_.erase(KeyOf(page));
  } else {
    group->Erase(nodes, child);
    if (group->entries_.size() == 1) {
      target = group->entries_.begin()->second;
      group->entries_.clear();
      delete group;
    }
  }
  SetFirst();
}

void Siblings::Replace(const NodeTable& nodes, NodeIndex child, NodeIndex by) {
  Target& target = At(nodes[by].edge.first_page());
  if (target.group() != nullptr) {
    target.group()->Replace(nodes, child, by);
  } else {
    CHECK(target.child() == child);
    target = Target(by);
  }
  SetFirst();
}

Siblings::Best Siblings::Find(const NodeTable& nodes, std::span<const TokenId> tokens) const {
  const Siblings* at = this;
  while (true) {
    const std::uint64_t key = at->KeyOf(tokens);
    const auto above = at->entries_.lower_bound(key);
    if (above == at->entries_.end() || above->first != key) {
      // What differs in these two tokens shares the first of them, or none.
      const auto shares = [&](const auto& entry) { return entry->first >> 32 == key >> 32; };
      if (above != at->entries_.end() && shares(above)) {
        return {FirstOf(above->second), at->depth_ + 1};
      }
      if (above != at->entries_.begin() && shares(std::prev(above))) {
        return {FirstOf(std::prev(above)->second), at->depth_ + 1};
      }
      if (at->depth_ == 0) return {kNoNode, 0};
      return {at->first_, at->depth_};
    }
    const NodeIndex child = FirstOf(above->second);
    const auto known = static_cast<std::size_t>(at->depth_);
    const std::int32_t common =
        at->depth_ + static_cast<std::int32_t>(CommonLength(
                         nodes[child].edge.first_page().subspan(known), tokens.subspan(known)));
    const Siblings* const group = above->second.group();
    if (group == nullptr || common < group->depth_ ||
        common == static_cast<std::int32_t>(tokens.size())) {
      return {child, common};
    }
    at = group;
  }
}

bool Siblings::IsSound(const NodeTable& nodes) const {
  if (entries_.empty() || first_ != FirstOf(entries_.begin()->second)) return false;
  const std::span<const TokenId> first = nodes[first_].edge.first_page();
  return std::all_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    const std::span<const TokenId> page = nodes[FirstOf(entry.second)].edge.first_page();
    const Siblings* const group = entry.second.group();
    return static_cast<std::int32_t>(page.size()) > depth_ && CommonLength(first, page) >= depth_ &&
           entry.first == KeyOf(page) &&
           (group == nullptr || (group->depth_ >= depth_ + 2 && group->depth_ % 2 == 0 &&
                                 group->entries_.size() > 1 && group->IsSound(nodes)));
  });
}

}  // namespace banyan::radix
