#include "radix/audit.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/common_length.h"

namespace banyan::radix {
namespace {

std::size_t Index(PageId page) { return static_cast<std::size_t>(page); }

}  // namespace

Audit::Audit(const Tree& tree)
    : tree_(tree),
      nodes_(tree.branches_.nodes()),
      pages_(static_cast<std::size_t>(tree.pool_.size())),
      lease_ends_(nodes_.end(), 0),
      known_roots_(nodes_.end(), false) {}

absl::Status Audit::Run() {
  // Stops at the first thing that is wrong.
  (void)(CheckNamespaces() && WalkBranches() && CheckViews() && CheckCopies() && CheckPins() &&
         CheckCopySources() && CheckPages() && CheckWatches() && CheckCounters());
  return status_;
}

bool Audit::Require(bool condition, std::string_view what, std::int64_t where) {
  if (condition) [[likely]]
    return true;
  status_ = absl::InternalError(std::string(what) + ", at " + std::to_string(where));
  return false;
}

bool Audit::CheckNamespaces() {
  const Namespaces& namespaces = tree_.namespaces_;
  std::size_t empty = 0;
  for (const auto& [name, place] : namespaces.by_name_) {
    const Namespaces::Entry& entry = namespaces.entries_[place];
    const NodeIndex root = entry.root;
    if (!Require(root < nodes_.end() && nodes_[root].live && nodes_[root].is_root() &&
                     !known_roots_[root],
                 "a namespace without a root of its own", root) ||
        !Require(name.data() == entry.name.data() && name.size() == entry.name.size() &&
                     namespaces.by_root_.contains(root) && namespaces.by_root_.at(root) == place,
                 "a namespace that is not found again", root) ||
        !Require(entry.is_empty == tree_.IsEmptyRoot(root),
                 "a namespace wrongly among the empty ones, or not", root)) {
      return false;
    }
    known_roots_[root] = true;
    if (entry.is_empty) ++empty;
  }
  Namespaces::Place before = Namespaces::kNoPlace;
  for (auto at = namespaces.oldest_; at != Namespaces::kNoPlace;
       at = namespaces.entries_[at].newer) {
    const Namespaces::Entry& entry = namespaces.entries_[at];
    if (!Require(entry.is_empty && entry.older == before && empty-- > 0,
                 "a wrong list of empty namespaces", at)) {
      return false;
    }
    before = at;
  }
  const auto known = static_cast<std::int64_t>(namespaces.by_name_.size());
  return Require(empty == 0 && namespaces.newest_ == before, "empty namespaces that are not listed",
                 static_cast<std::int64_t>(empty)) &&
         Require(
             namespaces.by_root_.size() == namespaces.by_name_.size() &&
                 namespaces.free_.size() + namespaces.by_name_.size() == namespaces.entries_.size(),
             "namespaces that do not add up", known);
}

bool Audit::WalkBranches() {
  for (NodeIndex index = 0; index < nodes_.end(); ++index) {
    const Node& node = nodes_[index];
    if (!node.live || !node.is_root()) continue;
    if (!Require(known_roots_[index] != node.detached, "a root nobody knows", index) ||
        !Require(!node.held && node.edge.page_count() == 0, "a root with pages", index)) {
      return false;
    }
    walked_.push_back(index);
  }
  roots_ = static_cast<std::int64_t>(walked_.size());
  for (std::size_t i = 0; i < walked_.size(); ++i) {
    const NodeIndex index = walked_[i];
    if (!CheckNode(index) || !CheckChildren(index)) return false;
    nodes_[index].children.ForEach([&](NodeIndex child) { walked_.push_back(child); });
  }
  return Require(static_cast<std::int64_t>(walked_.size()) == nodes_.live(),
                 "nodes that no root leads to; live", nodes_.live());
}

bool Audit::CheckNode(NodeIndex index) {
  const Node& node = nodes_[index];
  const Edge& edge = node.edge;
  const std::int32_t page_size = tree_.options_.page_size;
  if (!node.is_root() &&
      (!Require(edge.page_count() > 0, "a node without pages", index) ||
       !Require(edge.page_count() <= MaxEdgePages(page_size), "an edge too long", index) ||
       !Require((edge.token_count() + page_size - 1) / page_size == edge.page_count(),
                "an edge whose pages and tokens disagree", index))) {
    return false;
  }
  const bool is_leaf = node.children.empty();
  if (!Require(!edge.has_tail() || (is_leaf && node.pins == 0),
               "a partial page that is not the end of an unpinned leaf", index)) {
    return false;
  }
  if (!Require(!edge.has_tail() || tree_.options_.sharing == Sharing::kSlots,
               "a partial page where pages are shared whole", index)) {
    return false;
  }
  for (const PageId page : edge.pages()) {
    if (!Require(page >= 0 && page < tree_.pool_.size(), "an edge with a page of no pool", index)) {
      return false;
    }
    Holders& holders = pages_[Index(page)];
    ++(node.detached ? holders.detached_nodes : holders.nodes);
  }
  if (!node.detached) cached_tokens_ += edge.token_count();
  std::int64_t evictable = 0;
  if (node.pins == 0 && !node.detached) evictable = edge.page_count() - (node.held ? 1 : 0);
  evictable_ += evictable;
  const bool indexed = is_leaf && evictable > 0;
  if (indexed) ++indexed_;
  return Require(node.indexed == indexed, "a leaf wrongly in or out of the eviction index",
                 index) &&
         Require(tree_.branches_.eviction().Contains(index, node.rank) == indexed,
                 "the eviction index has a leaf wrongly, or with another rank", index) &&
         Require(!node.detached || node.pins > 0, "a detached node that nobody leases", index);
}

bool Audit::CheckChildren(NodeIndex index) {
  const Node& node = nodes_[index];
  std::span<const TokenId> before;
  bool sound = true;
  node.children.ForEach([&](NodeIndex child) {
    sound = sound && CheckChild(index, child, before);
    if (sound) before = nodes_[child].edge.first_page();
  });
  return sound &&
         Require(node.children.IsSound(nodes_), "children filed under other tokens", index);
}

bool Audit::CheckChild(NodeIndex parent, NodeIndex index, std::span<const TokenId> before) {
  if (!Require(index < nodes_.end() && nodes_[index].live && nodes_[index].parent == parent,
               "a child that has another parent", index)) {
    return false;
  }
  const Node& child = nodes_[index];
  const std::span<const TokenId> page = child.edge.first_page();
  // In lexicographic order a prefix comes right before what it is a prefix of.
  const auto differ = std::mismatch(before.begin(), before.end(), page.begin(), page.end());
  return Require(!page.empty(), "a child without tokens", index) &&
         Require(child.detached == nodes_[parent].detached, "a node half detached", index) &&
         Require(child.pins > 0 || child.rank <= nodes_[parent].rank,
                 "a parent that goes before its unpinned child", index) &&
         Require(before.empty() || (differ.first != before.end() && differ.second != page.end() &&
                                    *differ.first < *differ.second),
                 "siblings out of order, or alike in their first page", index);
}

bool Audit::CheckViews() {
  for (const auto& [node, first] : tree_.views_) {
    if (!Require(first != nullptr, "an empty list of views", node)) return false;
    const View* previous = nullptr;
    for (const View* view = first; view != nullptr; view = view->next_) {
      if (!Require(view->tree_ == &tree_ && view->previous_ == previous &&
                       view->lease_.node_.index == node,
                   "a view in the wrong list", view->tokens_) ||
          !CheckLease(*view) || !CheckOwnPages(*view)) {
        return false;
      }
      views_.push_back(view);
      previous = view;
    }
  }
  return true;
}

// The lease ends where its node's edge ends, and the table begins with the pages of that path.
bool Audit::CheckLease(const View& view) {
  const NodeRef ref = view.lease_.node_;
  if (!Require(view.lease_.tree_ == &tree_ && ref.index < nodes_.end() && nodes_[ref.index].live &&
                   nodes_[ref.index].generation == ref.generation,
               "a lease on a node that is gone", ref.index)) {
    return false;
  }
  ++lease_ends_[ref.index];
  auto left = static_cast<std::size_t>(view.lease_.pages());
  if (!Require(left <= view.table_.size(), "a lease longer than its page table", ref.index) ||
      !CheckGap(view)) {
    return false;
  }
  NodeIndex root = ref.index;
  for (NodeIndex at = ref.index; at != kNoNode; at = nodes_[at].parent) {
    const std::span<const PageId> run = nodes_[at].edge.pages();
    if (!Require(run.size() <= left &&
                     std::equal(run.begin(), run.end(), view.table_.begin() + (left - run.size())),
                 "a page table that does not follow its lease", at)) {
      return false;
    }
    left -= run.size();
    for (const PageId page : run) ++pages_[Index(page)].leases;
    root = at;
  }
  return Require(left == 0, "a lease longer than its path", ref.index) &&
         Require(nodes_[root].detached || tree_.Root(view.name_space_) == root,
                 "a lease in another namespace", ref.index);
}

// What was dropped is behind the lease, before the valid tokens' end, and of a private view.
bool Audit::CheckGap(const View& view) {
  const PageGap& gap = view.gap_;
  if (gap.dropped == 0) return Require(gap.front == 0, "a front without a gap", gap.front);
  return Require(view.is_private_, "a gap in a view that publishes", gap.front) &&
         Require(gap.dropped > 0 && gap.front >= view.lease_.pages() &&
                     gap.front <= static_cast<std::int64_t>(view.table_.size()),
                 "a gap within a lease, or behind the page table", gap.front) &&
         Require((gap.front + gap.dropped) * tree_.options_.page_size <= view.tokens_,
                 "a gap where no tokens are", gap.front + gap.dropped);
}

bool Audit::CheckOwnPages(const View& view) {
  const std::int32_t page_size = tree_.options_.page_size;
  const std::int64_t leased = view.lease_.pages();
  const std::int64_t valid = view.slots();
  if (!Require(view.compacted_ >= 0 && valid >= 0, "a view with more given up than it had",
               view.tokens_) ||
      !Require(view.compacted_ == 0 ||
                   (view.is_private_ && leased == 0 && view.gap_.dropped == 0 && valid > 0),
               "a compacted view that leases, publishes or has a gap", view.tokens_)) {
    return false;
  }
  const std::int64_t behind = valid - leased * page_size;
  const auto unpublished = static_cast<std::int64_t>(view.unpublished_.size());
  const std::int64_t dropped = view.gap_.dropped;
  const auto slots = (static_cast<std::int64_t>(view.table_.size()) + dropped) * page_size;
  // Until Grow gives its target, a copy's slots are counted but have no page yet.
  const bool awaits_target = view.copy_.from != kNoPage && view.copy_.to == kNoPage;
  if (!Require(behind >= 0 && (valid <= slots || awaits_target),
               "a view with more valid slots than pages", view.tokens_) ||
      !Require(
          view.is_private_ ? unpublished == 0 : unpublished == behind && unpublished < page_size,
          "a view with full pages that it did not publish", view.tokens_)) {
    return false;
  }
  const std::int64_t full = valid / page_size - dropped;  // as places in the table
  for (auto at = static_cast<std::size_t>(leased); at < view.table_.size(); ++at) {
    const PageId page = view.table_[at];
    if (!Require(page >= 0 && page < tree_.pool_.size(), "a view with a page of no pool", page)) {
      return false;
    }
    Holders& holders = pages_[Index(page)];
    ++holders.owners;
    holders.owner = &view;
    holders.owned_as = static_cast<std::int64_t>(at) < full ? PageState::kPrivate
                       : page == view.copy_.to              ? PageState::kCopying
                                                            : PageState::kOpen;
  }
  return true;
}

bool Audit::CheckCopies() {
  return std::all_of(views_.begin(), views_.end(),
                     [&](const View* view) { return CheckCopy(*view); });
}

bool Audit::CheckCopy(const View& view) {
  const PageCopy& copy = view.copy_;
  if (copy.from == kNoPage) return Require(copy.to == kNoPage, "a copy without source", copy.to);
  if (!Require(tree_.options_.sharing == Sharing::kSlots, "a copy where pages are shared whole",
               copy.from)) {
    return false;
  }
  const auto leased = static_cast<std::size_t>(view.lease_.pages());
  if (!Require(copy.from >= 0 && copy.from < tree_.pool_.size(), "a copy from no page",
               copy.from) ||
      !Require(copy.slots > 0 && copy.slots < tree_.options_.page_size &&
                   static_cast<std::size_t>(copy.slots) == view.unpublished_.size(),
               "a copy of a wrong number of slots", copy.from) ||
      !Require(copy.to == kNoPage ? view.table_.size() == leased
                                  : view.table_.size() > leased && view.table_[leased] == copy.to,
               "a copy to another page than the first own one", copy.to)) {
    return false;
  }
  ++pages_[Index(copy.from)].copies;
  const auto source = tree_.copies_.find(copy.from);
  if (!Require(source != tree_.copies_.end(), "a copy that nobody counts", copy.from)) return false;
  return Require(ContinuesView(source->second, view),
                 "a copy from a page that does not continue its view", copy.from);
}

// As far as can be told: tokens of private and of detached pages are not kept.
bool Audit::ContinuesView(const CopySource& source, const View& view) {
  const PageCopy& copy = view.copy_;
  if (source.keeper == CopySource::Keeper::kNode) {
    const NodeIndex node = source.node;
    return node < nodes_.end() && nodes_[node].live && nodes_[node].held &&
           nodes_[node].edge.pages()[0] == copy.from &&
           nodes_[node].parent == view.lease_.node_.index &&
           CommonLength(nodes_[node].edge.first_page(), view.unpublished_) == copy.slots;
  }
  if (source.keeper == CopySource::Keeper::kView) {
    const View* owner = pages_[Index(copy.from)].owner;
    if (owner == nullptr) return false;
    const auto leased = static_cast<std::size_t>(owner->lease_.pages());
    // A lease that was shortened ends elsewhere; the page is the first behind it all the same.
    const bool same_lease = owner->lease_.node_ == view.lease_.node_ || owner->gap_.dropped > 0;
    return owner != &view && owner->copy_.from == kNoPage && same_lease &&
           owner->table_[leased] == copy.from &&
           (owner->is_private_ ||
            CommonLength(owner->unpublished_, view.unpublished_) == copy.slots);
  }
  return true;
}

bool Audit::CheckPins() {
  std::vector<std::uint32_t>& pins = lease_ends_;
  for (auto index = walked_.rbegin(); index != walked_.rend(); ++index) {  // children first
    const Node& node = nodes_[*index];
    if (!Require(node.pins == pins[*index], "pins that do not add up", *index)) return false;
    if (node.kept() && !node.is_root()) ++pins[node.parent];
  }
  return true;
}

bool Audit::CheckCopySources() {
  std::int64_t held = 0;
  for (const NodeIndex index : walked_) held += nodes_[index].held ? 1 : 0;
  for (const auto& [page, source] : tree_.copies_) {
    using enum CopySource::Keeper;
    const Holders& holders = pages_[Index(page)];
    if (source.keeper == kNode) --held;
    if (!Require(source.copies > 0 && source.copies == holders.copies,
                 "copies in flight that do not add up", page) ||
        !Require((source.keeper == kNode) == (holders.nodes > 0) &&
                     (source.keeper == kLeases) == (holders.detached_nodes > 0) &&
                     (source.keeper == kView) == (holders.owners > 0),
                 "a copy's source that changed hands unnoticed", page)) {
      return false;
    }
  }
  return Require(held == 0, "nodes held by no copy", held);
}

bool Audit::CheckPages() {
  for (const PageId page : tree_.pool_.free_pages()) {
    if (!Require(page >= 0 && page < tree_.pool_.size() && !pages_[Index(page)].listed_free &&
                     tree_.pool_.state(page) == PageState::kFree,
                 "a page in the free list that is not free, or twice in it", page)) {
      return false;
    }
    pages_[Index(page)].listed_free = true;
  }
  std::array<std::int64_t, kPageStates> counts{};
  for (PageId page = 0; page < tree_.pool_.size(); ++page) {
    const Holders& holders = pages_[Index(page)];
    const PageState state = tree_.pool_.state(page);
    PageState expected = PageState::kFree;
    if (holders.owners > 0) {
      expected = holders.owned_as;
    } else if (holders.nodes > 0) {
      expected = PageState::kTree;
    } else if (holders.detached_nodes > 0 || holders.copies > 0) {
      expected = PageState::kDetached;
    }
    ++counts[static_cast<std::size_t>(state)];
    if (!Require(holders.owners + holders.nodes + holders.detached_nodes <= 1,
                 "a page in two places", page) ||
        !Require(state == expected, "a page in another state than its holders say", page)) {
      return false;
    }
  }
  std::int64_t sum = 0;
  for (int state = 0; state < kPageStates; ++state) {
    const std::int64_t count = tree_.pool_.count(static_cast<PageState>(state));
    sum += count;
    if (!Require(count == counts[static_cast<std::size_t>(state)],
                 "a count of pages that is wrong, of state", state)) {
      return false;
    }
  }
  const auto free = static_cast<std::int64_t>(tree_.pool_.free_pages().size());
  return Require(sum == tree_.pool_.size(), "states that do not sum to the pool", sum) &&
         Require(free == counts[0], "a free list that is not the free pages", free);
}

bool Audit::CheckWatches() {
  const Watches& watches = tree_.branches_.watches();
  std::int64_t hanging = 0;
  std::int64_t changed = 0;
  for (const auto& [index, station] : watches.stations_) {
    if (!Require(station->node == index && !station->watches.empty(),
                 "a station of watches under another node, or empty", index)) {
      return false;
    }
    const WatchEntry* before = nullptr;
    for (const WatchEntry& entry : station->watches) {
      if (!CheckWatch(*station, entry) ||
          !Require(before == nullptr || WatchOrder()(*before, entry), "watches out of order",
                   index)) {
        return false;
      }
      before = &entry;
      ++hanging;
      if (entry.watch->cached_tokens_ != entry.watch->reported_) ++changed;
    }
  }
  const Watch* previous = nullptr;
  for (const Watch* at = watches.first_changed_; at != nullptr; at = at->next_changed_) {
    if (!Require(at->previous_changed_ == previous && at->cached_tokens_ != at->reported_,
                 "a watch wrongly in the list of changed ones", at->cached_tokens_)) {
      return false;
    }
    previous = at;
    --changed;
  }
  return Require(watches.last_changed_ == previous && changed == 0,
                 "changed watches that are not listed", changed) &&
         Require(hanging == watches.count_, "watches that hang nowhere", hanging);
}

// It hangs where a match of its tokens ends, and has that length.
bool Audit::CheckWatch(const WatchStation& station, const WatchEntry& entry) {
  const Watch& watch = *entry.watch;
  const std::int64_t page_size = tree_.options_.page_size;
  if (!Require(watch.tree_ == &tree_ && watch.station_ == &station,
               "a watch at two stations, or off", station.node)) {
    return false;
  }
  const Branches::Match match = tree_.branches_.Find(tree_.Root(watch.name_space_), watch.tokens_);
  const bool inside = match.common >= page_size;
  const std::int64_t pages = match.length / page_size;
  const std::int64_t start = inside ? pages : pages - nodes_[match.node].edge.page_count();
  const std::int64_t place = watch.cached_tokens_ / page_size;
  return Require(watch.cached_tokens_ == tree_.options_.Shared(match.length + match.common),
                 "a watch with another length than its match", watch.cached_tokens_) &&
         Require(station.node == (inside ? match.next : match.node) && station.start == start,
                 "a watch that hangs elsewhere than its match ends", station.node) &&
         Require(entry.place == place &&
                     entry.next.tokens.data() == watch.tokens_.data() + place * page_size,
                 "a watch filed under other tokens", place);
}

bool Audit::CheckCounters() {
  const Branches& branches = tree_.branches_;
  return Require(branches.evictable() == evictable_, "a wrong count of evictable pages",
                 evictable_) &&
         Require(static_cast<std::int64_t>(branches.eviction().size()) == indexed_,
                 "an eviction index with leaves that are none", indexed_) &&
         Require(tree_.cached_tokens_ == cached_tokens_, "a wrong count of cached tokens",
                 cached_tokens_) &&
         Require(branches.edges() == nodes_.live() - roots_, "a wrong count of nodes",
                 nodes_.live());
}

absl::Status Tree::CheckInvariants() const { return Audit(*this).Run(); }

}  // namespace banyan::radix
