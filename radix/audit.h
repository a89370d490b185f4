// The invariant checker: recounts everything that the tree keeps account of, from nothing but the
// branches and the open views, and compares. Kept apart from the code that it checks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "radix/tree.h"

namespace banyan::radix {

class Audit {
 public:
  explicit Audit(const Tree& tree);
  absl::Status Run();  // once

 private:
  // The references of a page, by kind.
  struct Holders {
    std::int32_t leases = 0;
    std::int32_t nodes = 0;           // of the tree
    std::int32_t detached_nodes = 0;  // flushed ones, whose leases are counted as well
    std::int32_t owners = 0;          // views that have it as their own
    std::int32_t copies = 0;          // in flight from it
    const View* owner = nullptr;      // the last of them
    PageState owned_as = PageState::kFree;
    bool listed_free = false;
  };

  bool Require(bool condition, std::string_view what, std::int64_t where);

  // Each returns false once something is wrong. In the order in which they build on one another.
  bool CheckNamespaces();
  bool WalkBranches();
  bool CheckNode(NodeIndex index);
  bool CheckChildren(NodeIndex index);
  bool CheckChild(NodeIndex parent, NodeIndex index, std::span<const TokenId> before);
  bool CheckViews();
  bool CheckLease(const View& view);
  bool CheckGap(const View& view);
  bool CheckOwnPages(const View& view);
  bool CheckCopies();
  bool CheckCopy(const View& view);
  bool ContinuesView(const CopySource& source, const View& view);
  bool CheckPins();
  bool CheckCopySources();
  bool CheckPages();
  bool CheckWatches();
  bool CheckWatch(const WatchStation& station, const WatchEntry& entry);
  bool CheckCounters();

  const Tree& tree_;
  const NodeTable& nodes_;
  absl::Status status_;
  std::vector<Holders> pages_;             // by PageId
  std::vector<std::uint32_t> lease_ends_;  // by NodeIndex
  std::vector<bool> known_roots_;          // by NodeIndex: of namespaces
  std::vector<NodeIndex> walked_;          // parents before children
  std::vector<const View*> views_;
  std::int64_t roots_ = 0;
  std::int64_t indexed_ = 0;
  std::int64_t evictable_ = 0;
  std::int64_t cached_tokens_ = 0;
};

}  // namespace banyan::radix
