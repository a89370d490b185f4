// What stands behind prefix_cache.h: page pool, branches, namespaces, copies and views, joined.
//
// Who moves a page between states: Open holds copy sources; Grow allocates and evicts; Append and
// Close publish or retire a view's own pages, Drop retires them, Compact makes
// them private and open again; Release and Flush retire what the
// tree gives up. A retired page is free, or detached while copies in flight read it.
//
// Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/ids.h"
#include "radix/branches.h"
#include "radix/departed.h"
#include "radix/namespaces.h"
#include "radix/page_pool.h"
#include "radix/prefix_cache.h"

namespace banyan::radix {

// A page that copies in flight read.
struct CopySource {
  enum class Keeper : std::uint8_t {
    kNode,    // it is the first page of `node`, in the tree
    kLeases,  // a detached node has it, and goes with its leases
    kView,    // it is the first own page of a view, open or private
    kNobody,  // the copies alone
  };
  std::int32_t copies = 0;
  Keeper keeper = Keeper::kNobody;
  NodeIndex node = kNoNode;  // with kNode
};

class Tree {
 public:
  Tree(const Options& options, Observer* observer);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // As in prefix_cache.h.
  const Options& options() const { return options_; }
  void SetTime(Tick now) { now_ = now; }
  NamespaceId OpenNamespace(std::string_view name);
  std::int64_t MatchLength(NamespaceId name_space, std::span<const TokenId> tokens) const;
  PrefixCache::Preview PreviewOpen(NamespaceId name_space, std::span<const TokenId> tokens,
                                   std::int64_t max_tokens) const;
  View Open(NamespaceId name_space, std::span<const TokenId> tokens, std::int64_t max_tokens);
  void StartWatch(Watch& watch, NamespaceId name_space, std::span<const TokenId> tokens);
  void StopWatch(Watch& watch);
  Watch* TakeChanged();
  bool Publishes(const View& view) const;
  PageState page_state(PageId page) const { return pool_.state(page); }
  std::int64_t available_pages() const;
  bool Grow(View& view, std::int32_t pages);
  std::optional<PageCopy> PendingCopy(const View& view) const;
  void CopyDone(View& view);
  void Append(View& view, std::span<const TokenId> tokens, PrefixCache::Exactness exactness);
  void Drop(View& view, std::int64_t front, std::int64_t until);
  View OpenPrivate(NamespaceId name_space);
  void Compact(View& view, std::int64_t tokens, std::int64_t slots);
  void Restore(View& view, std::int64_t tokens, std::int64_t slots, PageGap gap);
  void Close(View& view, PrefixCache::Tail tail);
  void Flush(NamespaceId name_space);
  Stats stats() const;
  absl::Status CheckInvariants() const;

  // Ends a lease; of a detached path, frees what only it held.
  void Release(Lease& lease);
  // `to` was moved from another view: it takes that one's place in the list.
  void ReplaceView(View& to);

 private:
  friend class Audit;     // the invariant checker
  friend class TreePeer;  // the checker's tests, which break what it checks

  NodeIndex Root(NamespaceId name_space) const { return namespaces_.Root(name_space); }
  std::size_t PageTokens(std::int32_t pages) const {
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(options_.page_size);
  }

  // What a view can begin with: what the tree has, or more of it, from another view's open page.
  struct Beginning {
    Branches::Match match;  // of `producer`'s page, when there is one, only `common`
    const View* producer = nullptr;
  };

  // open.cc
  Beginning FindBeginning(NamespaceId name_space, std::span<const TokenId> tokens) const;
  NodeIndex SplitEdge(NodeIndex node, std::int32_t pages);  // returns the upper part
  void LeasePath(View& view, NodeIndex node);
  void Use(NodeIndex node, std::int32_t pages);
  void CopyTreePage(View& view, NodeIndex source, std::int32_t slots);
  void CopyOpenPage(View& view, const View& producer, std::int32_t slots);
  void EndCopy(View& view);
  // publish.cc
  void Publish(View& view);
  void ShareTreePages(View& view, NodeIndex child, std::int32_t pages);
  std::int32_t GiveTreePages(View& view, std::span<const TokenId> run);
  Departed::Alike Recall(const View& view, std::span<const TokenId> run);
  bool ExtendsInPlace(const View& view) const;
  void MoveLease(View& view, NodeIndex to, std::int32_t pages, TouchKind touch);
  bool AdoptTail(View& view);
  void HoldIfCopied(NodeIndex node);
  // drop.cc
  void ShortenLease(View& view, std::int32_t pages);
  // view.cc
  void ListView(View& view);
  void UnlistView(View& view);
  void ForgetView(View& view);
  // tree.cc
  PageId TakePage(PageState state);
  void RemoveTail(NodeIndex leaf);
  void RetirePage(PageId page);
  void UnpinPath(NodeIndex node);
  bool IsEmptyRoot(NodeIndex root) const;
  void SettleRoot(NodeIndex root);
  void Detach(NodeIndex node);

  LogicalTime time() const { return {.uses = uses_, .views = opened_}; }

  const Options options_;
  Observer* const observer_;
  Tick now_{0};
  PagePool pool_;
  Branches branches_;
  std::optional<Departed> departed_;  // of policies that remember what left
  absl::flat_hash_map<PageId, CopySource> copies_;
  Namespaces namespaces_;
  // All open views, by the node where the lease ends: the first of them, linked through
  // View::next_.
  absl::flat_hash_map<NodeIndex, View*> views_;
  std::uint64_t uses_ = 0;    // logical time: counts what is used,
  std::uint64_t opened_ = 0;  // and views that were opened
  std::int64_t cached_tokens_ = 0;
  std::int64_t evicted_pages_ = 0;
  std::int64_t deduplicated_pages_ = 0;
  std::int64_t copied_pages_ = 0;
};

}  // namespace banyan::radix
