#include "radix/node.h"

#include "base/check.h"

namespace banyan::radix {
NodeIndex NodeTable::Allocate() {
  NodeIndex index;
  if (free_.empty()) {
    index = end();
    CHECK(index < kNoNode);
    nodes_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  nodes_[index].live = true;
  return index;
}

void NodeTable::Free(NodeIndex index) {
  Node& node = nodes_[index];
  CHECK(node.live && !node.kept() && !node.indexed && node.children == nullptr);
  const std::uint32_t generation = node.generation + 1;
  node = Node{};
  node.generation = generation;
  free_.push_back(index);
}

NodeIndex NodeTable::Resolve(NodeRef ref) const {
  CHECK(ref.index < nodes_.size() && nodes_[ref.index].live &&
        nodes_[ref.index].generation == ref.generation);
  return ref.index;
}

}  // namespace banyan::radix
