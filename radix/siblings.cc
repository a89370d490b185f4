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
  while (target.group() != nullptr) target = target.group()->entries_.begin()->second;
  return target.child();
}

NodeIndex Siblings::First() const { return FirstOf(entries_.begin()->second); }

Siblings::Target& Siblings::At(std::span<const TokenId> page) {
  const auto entry = entries_.find(KeyOf(page));
  CHECK(entry != entries_.end());
  return entry->second;
}

void Siblings::Insert(const NodeTable& nodes, NodeIndex child) {
  const std::span<const TokenId> page = nodes[child].edge.first_page();
  const auto [entry, is_new] = entries_.try_emplace(KeyOf(page), child);
  if (is_new) return;
  Target& target = entry->second;
  const std::span<const TokenId> other = nodes[FirstOf(target)].edge.first_page();
  const std::int32_t common = CommonLength(other, page);
  CHECK(common < static_cast<std::int32_t>(std::min(other.size(), page.size())));
  if (target.group() != nullptr && target.group()->depth_ <= common) {
    target.group()->Insert(nodes, child);
    return;
  }
  std::unique_ptr<Siblings> group(new Siblings(common / 2 * 2));
  group->entries_.emplace(group->KeyOf(other), target);
  group->entries_.emplace(group->KeyOf(page), child);
  target = Target(group.release());
}

void Siblings::Erase(const NodeTable& nodes, NodeIndex child) {
  const std::span<const TokenId> page = nodes[child].edge.first_page();
  Target& target = At(page);
  Siblings* const group = target.group();
  if (group == nullptr) {
    CHECK(target.child() == child);
    entries_.erase(KeyOf(page));
    return;
  }
  group->Erase(nodes, child);
  if (group->entries_.size() > 1) return;
  target = group->entries_.begin()->second;
  group->entries_.clear();
  delete group;
}

void Siblings::Replace(const NodeTable& nodes, NodeIndex child, NodeIndex by) {
  const std::span<const TokenId> page = nodes[by].edge.first_page();
  Target* target = &At(page);
  while (target->group() != nullptr) target = &target->group()->At(page);
  CHECK(target->child() == child);
  *target = Target(by);
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
      return {at->First(), at->depth_};
    }
    const NodeIndex child = FirstOf(above->second);
    const std::int32_t common = CommonLength(nodes[child].edge.first_page(), tokens);
    const Siblings* const group = above->second.group();
    if (group == nullptr || common < group->depth_ ||
        common == static_cast<std::int32_t>(tokens.size())) {
      return {child, common};
    }
    at = group;
  }
}

bool Siblings::IsSound(const NodeTable& nodes) const {
  bool sound = !entries_.empty();
  for (const auto& [key, target] : entries_) {
    const std::span<const TokenId> page = nodes[FirstOf(target)].edge.first_page();
    sound = sound && static_cast<std::int32_t>(page.size()) > depth_ && key == KeyOf(page);
    const Siblings* const group = target.group();
    if (group == nullptr) continue;
    sound = sound && group->depth_ >= depth_ + 2 && group->depth_ % 2 == 0 &&
            group->entries_.size() > 1 && group->IsSound(nodes);
    group->ForEach([&](NodeIndex child) {
      const std::int32_t common = CommonLength(nodes[child].edge.first_page(), page);
      sound = sound && common >= group->depth_;
    });
  }
  return sound;
}

}  // namespace banyan::radix
