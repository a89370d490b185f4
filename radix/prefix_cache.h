// The tree of token prefixes over reference-counted KV pages.
//
//                 root of a namespace
//                /                   \            an edge carries a run of whole pages and their
//        [sys0 sys1 sys2]         [other0]        tokens; siblings differ within their first page
//         /           \               |
//   [userA0 ansA0]  [userB0]       [..., tail]    a leaf may end in one partial page (its tail)
//
// A request works on a View: leased pages of the tree first, then pages of its own. As its pages
// fill up they are published: they move to the tree, and the view's lease grows over them.
//
// Invariants:
//
//  1. The states of pages (page_state.h) sum to the pool. References of a page = leases over it + 1
//  if in the tree + 1 for
//     the view that owns it + copies in flight from it. Only free pages have none.
//  2. Edges begin on page borders; siblings differ within their first page: none is a prefix of
//     another. Keys are compared token by token. A lease ends where an edge ends.
//  3. A pinned node's ancestors are pinned. A copy in flight holds its source page: a view's first
//     own page, or the first of a node, whose ancestors it then pins. Only unpinned leaves are
//     evicted, from the last page on, but never a page that a copy holds.
//  4. Slots in the tree were computed by exactly the tokens on the path from their root and never
//     change.
//  5. Publishing pages that the tree already has drops the publisher's copy and leases the tree's.
//
// Thread safety: none; everything belongs to the engine thread. Nothing here reads the clock, logs
// or throws: time is told with SetTime and events go to an Observer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/ids.h"
#include "radix/options.h"
#include "radix/page_state.h"
#include "radix/stats.h"
#include "radix/view.h"
#include "radix/watch.h"

namespace banyan::radix {

class PrefixCache {
 public:
  // `observer` may be null; else it outlives the cache. Views must be gone before the cache is.
  explicit PrefixCache(const Options& options, Observer* observer = nullptr);
  ~PrefixCache();

  const Options& options() const;
  Stats stats() const;
  void SetTime(Tick now);

  // The namespace of that name, made when new. Names are arbitrary bytes; "" is the default one.
  // Making one may forget the one that has been empty the longest, when there are more empty ones
  // than are kept. So an id is good until the next call of this, and beyond while pages are cached
  // in its namespace, or a watch is on, or a view is open that was opened since the last Flush.
  NamespaceId OpenNamespace(std::string_view name);

  // How many leading tokens of `tokens` are in the tree, whole pages and part of the next; whole
  // pages alone with Sharing::kPages, here and in all that follows. Changes nothing. Open may give
  // more, up to a page less one: it looks at open pages, too.
  std::int64_t MatchLength(NamespaceId name_space, std::span<const TokenId> tokens) const;

  // What Open would give and take, with the same arguments. Changes nothing.
  struct Preview {
    std::int64_t tokens = 0;        // that the view would begin with
    std::int32_t leased_pages = 0;  // the whole pages among them
    std::int32_t pinned_pages = 0;  // by so many would available_pages() be smaller
  };
  Preview PreviewOpen(NamespaceId name_space, std::span<const TokenId> tokens,
                      std::int64_t max_tokens) const;

  // A view whose first `tokens()` tokens, at most `max_tokens`, come from the cache. Whole pages
  // are leased. When the next page matches in part, its cached slots are to be copied: the view
  // holds the source, and the first page that Grow gives becomes the target (copying). The source
  // is a page of the tree, or, when that has more of the tokens, the open page of another view
  // that has the same tokens so far: what one request has computed is never computed again. A
  // source in the tree is a page that the view pins and does not name: with `max_tokens` on a page
  // border there is none.
  View Open(NamespaceId name_space, std::span<const TokenId> tokens, std::int64_t max_tokens);

  // Keeps watch.cached_tokens(), of a watch that is off, equal to MatchLength(name_space, tokens),
  // whatever happens to the tree, until StopWatch or the watch's end. `tokens` stays valid and
  // unchanged so long.
  void StartWatch(Watch& watch, NamespaceId name_space, std::span<const TokenId> tokens);
  void StopWatch(Watch& watch);  // harmless when it is off
  // One of the watches whose length is another than when it was last started or returned here; null
  // when none is left.
  Watch* TakeChanged();

  // Whether what the view fills is still published: not once its namespace was flushed or something
  // inexact was appended.
  bool Publishes(const View& view) const;

  PageState page_state(PageId page) const;

  // Pages that Grow could hand out now: free ones and those it could evict.
  std::int64_t available_pages() const;

  // Appends `pages` pages to the view, evicting where the pool is empty. False, and nothing
  // changed, when fewer than that are available.
  bool Grow(View& view, std::int32_t pages);

  // The copy that the next step must make before it reads the view: from the Grow that gave its
  // target until CopyDone. Append must wait for CopyDone.
  std::optional<PageCopy> PendingCopy(const View& view) const;
  void CopyDone(View& view);

  // The KV of `tokens`, which follow the view's valid ones, was computed and written to its pages
  // (which Grow has given). Publishes the pages that became full; where the tree had such a page,
  // the table now names the tree's and the view's own is free. kInexact: the slots must not be
  // shared (a failed step, a lossy view); from then on the view's full pages become private.
  // available_pages() is not smaller afterwards, but for this: a page that was dropped as the tree
  // had it is free only when the copies from it are done.
  enum class Exactness : std::uint8_t { kExact, kInexact };
  void Append(View& view, std::span<const TokenId> tokens, Exactness exactness = Exactness::kExact);

  // Of a private view: nothing reads its pages number `front` .. until - 1 any more; they lie
  // behind the first `front`, which is the same in each call, and before its valid tokens' end. Its
  // own are free at once. A lease has no holes: those that it leases stay in the table until all
  // behind the front are dropped; then it ends there. Afterwards view.gap() says what the table
  // names.
  void Drop(View& view, std::int64_t front, std::int64_t until);

  // A view of no tokens that publishes nothing: for what survives of another, which is copied
  // there.
  View OpenPrivate(NamespaceId name_space);

  // The first `slots` slots of such a view, 1..tokens - 1, which Grow has given, now hold what
  // survives of the first `tokens` tokens of its request. Either it is empty, or it was compacted
  // before and holds these tokens, in no fewer slots.
  void Compact(View& view, std::int64_t tokens, std::int64_t slots);

  // Such a view, which is empty, now holds what a private view with so many tokens and slots and
  // that gap held: Grow has given the pages.
  void Restore(View& view, std::int64_t tokens, std::int64_t slots, PageGap gap);

  // Ends the view. kAdopt: its last, partly filled page becomes the tail of a leaf unless the tree
  // already has those tokens, or shares whole pages alone. kDiscard: that page is freed. Whole
  // pages stay in the tree either way.
  enum class Tail : std::uint8_t { kAdopt, kDiscard };
  void Close(View& view, Tail tail);

  // Forgets all that is cached under a namespace; pages that are leased are detached until their
  // leases end. Views that were open then publish nothing more: what they fill is private.
  void Flush(NamespaceId name_space);

  // OK, or kInternal with the first violated invariant. O(pages + nodes + leased pages of all
  // views).
  absl::Status CheckInvariants() const;

 private:
  friend class TreePeer;  // tests of what stands behind this
  std::unique_ptr<Tree> tree_;
};

}  // namespace banyan::radix
