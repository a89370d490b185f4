#include "radix/siblings.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/check.h"
#include "base/common_length.h"
#include "radix/node.h"

namespace banyan::radix {
namespace {

using Target = Fork::Target;

// One of those at `target`.
NodeIndex AnyOf(Target target) {
  while (const Fork* const fork = target.fork()) target = fork->Any();
  return target.child();
}

// How many bytes two pages share; all of them when one is a prefix of the other.
std::int32_t CommonBytes(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto tokens = static_cast<std::size_t>(CommonLength(a, b));
  const auto bytes = static_cast<std::int32_t>(tokens) * kTokenBytes;
  if (tokens == std::min(a.size(), b.size())) return bytes;
  return bytes + std::countl_zero(static_cast<std::uint32_t>(a[tokens] ^ b[tokens])) / 8;
}

// How many bytes, up to `depth` of the fork, all at the fork share with `tokens`, of which `known`
// do.
std::int32_t CommonBytes(const NodeTable& nodes, Fork& fork, std::span<const TokenId> tokens,
                         std::int32_t known) {
  const std::int32_t depth = fork.depth();
  const std::int32_t remembered = (depth / kTokenBytes - 1) * kTokenBytes;
  if (known >= remembered && depth / kTokenBytes < static_cast<std::int32_t>(tokens.size())) {
    const std::uint64_t differ = Fork::Before(tokens, depth) ^ fork.before();
    return differ == 0 ? depth : remembered + std::countl_zero(differ) / 8;
  }
  const NodeIndex child = AnyOf(Target(&fork));
  return std::min(depth, CommonBytes(nodes[child].edge.first_page(), tokens));
}

void DeleteForks(Blocks& blocks, Target target) {
  Fork* const fork = target.fork();
  if (fork == nullptr) return;
  for (const Fork::Entry& entry : fork->Entries()) DeleteForks(blocks, entry.target);
  Fork::Delete(blocks, fork);
}

void Visit(Target target, absl::FunctionRef<void(NodeIndex)> f) {
  const Fork* const fork = target.fork();
  if (fork == nullptr) {
    f(target.child());
    return;
  }
  for (const Fork::Entry& entry : fork->Entries()) Visit(entry.target, f);
}

// Whether all at `fork` differ at its depth and not before, and it lies deeper than `above`.
bool IsSoundFork(const NodeTable& nodes, const Fork& fork, std::int32_t above) {
  const std::int32_t depth = fork.depth();
  if (depth <= above || !fork.IsSound()) return false;
  const std::span<const TokenId> any = nodes[AnyOf(fork.Any())].edge.first_page();
  return std::ranges::all_of(fork.Entries(), [&](const Fork::Entry& entry) {
    const std::span<const TokenId> page = nodes[AnyOf(entry.target)].edge.first_page();
    const Fork* const below = entry.target.fork();
    return static_cast<std::int32_t>(page.size()) * kTokenBytes > depth &&
           CommonBytes(any, page) >= depth && Fork::Before(page, depth) == fork.before() &&
           ByteAt(page, depth) == entry.byte &&
           (below == nullptr || IsSoundFork(nodes, *below, depth));
  });
}

}  // namespace

Siblings::Parting Siblings::Follow(const NodeTable& nodes, std::span<const TokenId> tokens) const {
  Parting parting{.at = top_};
  std::int32_t known = 0;
  while (Fork* const fork = parting.at.fork()) {
    fork->Prefetch();
    parting.depth = CommonBytes(nodes, *fork, tokens, known);
    const std::int32_t depth = fork->depth();
    if (parting.depth < depth || depth / kTokenBytes == static_cast<std::int32_t>(tokens.size())) {
      return parting;
    }
    const Target* const next = fork->Find(ByteAt(tokens, depth));
    if (next == nullptr) return parting;
    parting.above = fork;
    parting.at = *next;
    known = depth + 1;
  }
  parting.depth = CommonBytes(nodes[parting.at.child()].edge.first_page(), tokens);
  return parting;
}

Siblings::Best Siblings::Find(const NodeTable& nodes, std::span<const TokenId> tokens) const {
  if (empty()) return {kNoNode, 0, false};
  const Parting parting = Follow(nodes, tokens);
  const std::int32_t common = parting.depth / kTokenBytes;
  if (common == 0) return {kNoNode, 0, false};
  const NodeIndex child = AnyOf(parting.at);
  // No child of a fork is a prefix of what parts there.
  const bool is_prefix = parting.at.fork() == nullptr &&
                         nodes[child].edge.first_page().size() == static_cast<std::size_t>(common);
  return {child, common, is_prefix};
}

void Siblings::Insert(NodeTable& nodes, NodeIndex child) {
  if (empty()) {
    top_ = Target(child);
    return;
  }
  const std::span<const TokenId> page = nodes[child].edge.first_page();
  const auto [above, at, depth] = Follow(nodes, page);
  const auto common = static_cast<std::size_t>(depth / kTokenBytes);
  CHECK(common < page.size());
  Fork* fork = at.fork();
  if (fork == nullptr) CHECK(common < nodes[at.child()].edge.first_page().size());
  if (fork == nullptr || fork->depth() != depth) {
    fork = Fork::Make(nodes.blocks(), page, depth);
    fork = Fork::Add(nodes.blocks(), fork, ByteAt(nodes[AnyOf(at)].edge.first_page(), depth), at);
  }
  fork = Fork::Add(nodes.blocks(), fork, ByteAt(page, depth), Target(child));
  (above == nullptr ? top_ : *above->Find(ByteAt(page, above->depth()))) = Target(fork);
}

// Follows the bytes at forks alone: it is here.
Siblings::Place Siblings::PlaceOf(std::span<const TokenId> page) {
  Place place{.child = &top_};
  while (Fork* const fork = place.child->fork()) {
    fork->Prefetch();
    place.fork = place.child;
    CHECK(fork->depth() < static_cast<std::int32_t>(page.size()) * kTokenBytes);
    place.child = fork->Find(ByteAt(page, fork->depth()));
    CHECK(place.child != nullptr);
  }
  return place;
}

void Siblings::Erase(NodeTable& nodes, NodeIndex child) {
  const std::span<const TokenId> page = nodes[child].edge.first_page();
  const Place place = PlaceOf(page);
  CHECK(*place.child == Target(child));
  if (place.fork == nullptr) {
    top_ = Target();
    return;
  }
  Fork* fork = place.fork->fork();
  fork = Fork::Remove(nodes.blocks(), fork, ByteAt(page, fork->depth()));
  *place.fork = Target(fork);
  if (fork->count() > 1) return;
  *place.fork = fork->Any();
  Fork::Delete(nodes.blocks(), fork);
}

void Siblings::Clear(NodeTable& nodes) {
  DeleteForks(nodes.blocks(), top_);
  top_ = Target();
}

void Siblings::Replace(const NodeTable& nodes, NodeIndex child, NodeIndex by) {
  const Place place = PlaceOf(nodes[by].edge.first_page());
  CHECK(*place.child == Target(child));
  *place.child = Target(by);
}

void Siblings::ForEach(absl::FunctionRef<void(NodeIndex)> f) const {
  if (!empty()) Visit(top_, f);
}

bool Siblings::IsSound(const NodeTable& nodes) const {
  return top_.fork() == nullptr || IsSoundFork(nodes, *top_.fork(), -1);
}

}  // namespace banyan::radix
