#include "radix/watch.h"

#include "radix/tree.h"

namespace banyan::radix {

Watch::~Watch() {
  if (tree_ != nullptr) tree_->StopWatch(*this);
}

void Tree::StartWatch(Watch& watch, NamespaceId name_space, std::span<const TokenId> tokens) {
  watch.tree_ = this;
  watch.name_space_ = name_space;
  watch.tokens_ = tokens;
  watch.cached_tokens_ = MatchLength(name_space, tokens);
}

void Tree::StopWatch(Watch& watch) {
  watch.tree_ = nullptr;
  watch.cached_tokens_ = 0;
}

Watch* Tree::TakeChanged() { return nullptr; }

}  // namespace banyan::radix
