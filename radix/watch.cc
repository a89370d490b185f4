#include "radix/watch.h"

#include "base/check.h"
#include "radix/tree.h"

namespace banyan::radix {

Watch::~Watch() {
  if (tree_ != nullptr) tree_->StopWatch(*this);
}

void Tree::StartWatch(Watch& watch, NamespaceId name_space, std::span<const TokenId> tokens) {
  CHECK(watch.tree_ == nullptr);
  watch.tree_ = this;
  watch.name_space_ = name_space;
  watch.tokens_ = tokens;
  branches_.StartWatch(watch, branches_.Find(Root(name_space), tokens));
  namespaces_.SetEmpty(Root(name_space), false);
}

void Tree::StopWatch(Watch& watch) {
  if (watch.tree_ == nullptr) return;
  CHECK(watch.tree_ == this);
  branches_.watches().Stop(watch);
  SettleRoot(Root(watch.name_space_));
  watch.tree_ = nullptr;
  watch.tokens_ = {};
}

Watch* Tree::TakeChanged() { return branches_.watches().TakeChanged(); }

}  // namespace banyan::radix
