// Everything that was ever computed in one realm and may be shared, as a naive trie: one node per
// token, no pages, no eviction. What the cache gives can never be more than this knows, and is
// exactly this where nothing was ever lost.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"

namespace banyan::sim {

class Knowledge {
 public:
  static constexpr std::int32_t kRoot = 0;
  static constexpr std::int32_t kNone = -1;

  Knowledge() { Forget(); }

  // How many leading tokens are known.
  std::int64_t Match(std::span<const TokenId> tokens) const {
    std::int32_t at = kRoot;
    std::int64_t length = 0;
    for (const TokenId token : tokens) {
      const auto child = nodes_[static_cast<std::size_t>(at)].children.find(token);
      if (child == nodes_[static_cast<std::size_t>(at)].children.end()) break;
      at = child->second;
      ++length;
    }
    return length;
  }

  struct Node {
    std::map<TokenId, std::int32_t> children;
    std::int64_t computed_in = -1;  // the first step that did; -1: no step did yet
    RequestId computed_for{};       // whom it did it for
    bool by_prefill = false;        // of a request that would have shared it
  };
  Node& operator[](std::int32_t node) { return nodes_[static_cast<std::size_t>(node)]; }
  // The node behind `node` with that token, made when new.
  std::int32_t Step(std::int32_t node, TokenId token) {
    const auto [child, is_new] = nodes_[static_cast<std::size_t>(node)].children.try_emplace(
        token, static_cast<std::int32_t>(nodes_.size()));
    const std::int32_t next = child->second;
    if (is_new) nodes_.emplace_back();
    return next;
  }
  std::int32_t Walk(std::span<const TokenId> tokens) {
    std::int32_t at = kRoot;
    for (const TokenId token : tokens) at = Step(at, token);
    return at;
  }

  // Nothing is known any more.
  void Forget() {
    nodes_.clear();
    nodes_.emplace_back();
  }

 private:
  std::vector<Node> nodes_;
};

}  // namespace banyan::sim
