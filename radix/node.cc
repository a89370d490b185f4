#include "radix/node.h"

#include <memory>

#include "base/check.h"

namespace banyan::radix {

NodeTable::~NodeTable() {
  for (NodeIndex index = 0; index < end_; ++index) {
    Node& node = (*this)[index];
    node.children.Clear(*this);
    std::destroy_at(&node);
  }
}

NodeIndex NodeTable::Allocate() {
  NodeIndex index;
  if (free_.empty()) {
    index = end_++;
    CHECK(index < kNoNode);
    if (index == 0) slabs_.push_back(NewFirstSlab());
    if (index >= kFirstNodes && (index - kFirstNodes) % kNodes == 0) slabs_.push_back(NewSlab());
    std::construct_at(&(*this)[index]);
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
