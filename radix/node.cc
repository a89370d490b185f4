#include "radix/node.h"

#include "base/check.h"
#include "base/common_length.h"

namespace banyan::radix {
namespace {

std::uint64_t Order(std::span<const TokenId> tokens) {
  const std::uint64_t first = tokens.empty() ? 0 : static_cast<std::uint32_t>(tokens[0]);
  const std::uint64_t second = tokens.size() > 1 ? static_cast<std::uint32_t>(tokens[1]) : 0;
  return first << 32 | second;
}

std::strong_ordering Compare(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto common = static_cast<std::size_t>(CommonLength(a, b));
  if (common == a.size() || common == b.size()) return a.size() <=> b.size();
  return static_cast<std::uint32_t>(a[common]) <=> static_cast<std::uint32_t>(b[common]);
}

}  // namespace

ChildQuery::ChildQuery(std::span<const TokenId> page) : order(Order(page)), tokens(page) {}

std::strong_ordering operator<=>(const ChildQuery& a, const ChildQuery& b) {
  if (a.order != b.order) return a.order <=> b.order;
  return Compare(a.tokens, b.tokens);
}

bool ChildOrder::operator()(const Child& a, const Child& b) const {
  if (a.order != b.order) return a.order < b.order;
  return Compare((*nodes_)[a.node].edge.first_page(), (*nodes_)[b.node].edge.first_page()) < 0;
}

bool ChildOrder::operator()(const Child& a, const ChildQuery& b) const {
  if (a.order != b.order) return a.order < b.order;
  return Compare((*nodes_)[a.node].edge.first_page(), b.tokens) < 0;
}

bool ChildOrder::operator()(const ChildQuery& a, const Child& b) const {
  if (a.order != b.order) return a.order < b.order;
  return Compare(a.tokens, (*nodes_)[b.node].edge.first_page()) < 0;
}

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
