#include "radix/node.h"

#include "base/check.h"

namespace banyan::radix {

NodeIndex NodeTable::Allocate() {
  NodeIndex index;
  if (free_.empty()) {
    index = end_++;
    CHECK(index < kNoNode);
    if (index % kChunk == 0) chunks_.push_back(std::make_unique<Node[]>(kChunk));
  } else {
    index = free_.back();
    free_.pop_back();
  }
  (*this)[index].live = true;
  return index;
}

void NodeTable::Free(NodeIndex index) {
  Node& node = (*this)[index];
  CHECK(node.live && !node.kept() && !node.indexed && node.children.empty());
  const std::uint32_t generation = node.generation + 1;
  std::destroy_at(&node);
  std::construct_at(&node);
  node.generation = generation;
  free_.push_back(index);
}

NodeIndex NodeTable::Resolve(NodeRef ref) const {
  CHECK(ref.index < end_ && (*this)[ref.index].live &&
        (*this)[ref.index].generation == ref.generation);
  return ref.index;
}

}  // namespace banyan::radix
