// A pin on a path of the tree: while it lives, the pages under it are neither evicted nor changed.
#pragma once

#include <cstdint>
#include <utility>

namespace banyan::radix {

class Audit;  // the invariant checker
class Tree;

// A node's place in the tree's node table; the generation tells a reused place from the old node.
struct NodeRef {
  std::uint32_t index = UINT32_MAX;
  std::uint32_t generation = 0;
  friend bool operator==(NodeRef, NodeRef) = default;
};

// Move-only; unpins in its destructor. It must not outlive the tree.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept {
    if (this != &other) {
      Release();
      tree_ = std::exchange(other.tree_, nullptr);
      node_ = std::exchange(other.node_, NodeRef{});
      pages_ = std::exchange(other.pages_, 0);
    }
    return *this;
  }
  ~Lease() { Release(); }

  std::int32_t pages() const { return pages_; }  // whole pages from the root, all pinned
  void Release();                                // afterwards pages() == 0

 private:
  friend class Audit;
  friend class Tree;
  Lease(Tree* tree, NodeRef node, std::int32_t pages) : tree_(tree), node_(node), pages_(pages) {}

  Tree* tree_ = nullptr;
  NodeRef node_;  // the deepest pinned node; the lease ends where its edge ends
  std::int32_t pages_ = 0;
};

}  // namespace banyan::radix
