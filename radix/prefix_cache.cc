#include "radix/prefix_cache.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "radix/tree.h"

namespace banyan::radix {
namespace {

// After every mutation of a debug build.
void CheckInDebug([[maybe_unused]] const Tree& tree) {
#ifndef NDEBUG
  if (const absl::Status status = tree.CheckInvariants(); !status.ok()) {
    CheckFailed(__FILE__, __LINE__, std::string(status.message()).c_str());
  }
#endif
}

}  // namespace

PrefixCache::PrefixCache(const Options& options, Observer* observer)
    : tree_(std::make_unique<Tree>(options, observer)) {}

PrefixCache::~PrefixCache() = default;

const Options& PrefixCache::options() const { return tree_->options(); }

Stats PrefixCache::stats() const { return tree_->stats(); }

void PrefixCache::SetTime(Tick now) { tree_->SetTime(now); }

NamespaceId PrefixCache::OpenNamespace(std::string_view name) {
  const NamespaceId name_space = tree_->OpenNamespace(name);
  CheckInDebug(*tree_);
  return name_space;
}

std::int64_t PrefixCache::MatchLength(NamespaceId name_space,
                                      std::span<const TokenId> tokens) const {
  return tree_->MatchLength(name_space, tokens);
}

PrefixCache::Preview PrefixCache::PreviewOpen(NamespaceId name_space,
                                              std::span<const TokenId> tokens,
                                              std::int64_t max_tokens) const {
  return tree_->PreviewOpen(name_space, tokens, max_tokens);
}

View PrefixCache::Open(NamespaceId name_space, std::span<const TokenId> tokens,
                       std::int64_t max_tokens) {
  View view = tree_->Open(name_space, tokens, max_tokens);
  CheckInDebug(*tree_);
  return view;
}

void PrefixCache::StartWatch(Watch& watch, NamespaceId name_space,
                             std::span<const TokenId> tokens) {
  tree_->StartWatch(watch, name_space, tokens);
}

void PrefixCache::StopWatch(Watch& watch) { tree_->StopWatch(watch); }

Watch* PrefixCache::TakeChanged() { return tree_->TakeChanged(); }

bool PrefixCache::Publishes(const View& view) const { return tree_->Publishes(view); }

PageState PrefixCache::page_state(PageId page) const { return tree_->page_state(page); }

std::int64_t PrefixCache::available_pages() const { return tree_->available_pages(); }

bool PrefixCache::Grow(View& view, std::int32_t pages) {
  const bool grown = tree_->Grow(view, pages);
  CheckInDebug(*tree_);
  return grown;
}

std::optional<PageCopy> PrefixCache::PendingCopy(const View& view) const {
  return tree_->PendingCopy(view);
}

void PrefixCache::CopyDone(View& view) {
  tree_->CopyDone(view);
  CheckInDebug(*tree_);
}

void PrefixCache::Append(View& view, std::span<const TokenId> tokens, Exactness exactness) {
  tree_->Append(view, tokens, exactness);
  CheckInDebug(*tree_);
}

View PrefixCache::OpenPrivate(NamespaceId name_space) {
  View view = tree_->OpenPrivate(name_space);
  CheckInDebug(*tree_);
  return view;
}

void PrefixCache::Compact(View& view, std::int64_t tokens, std::int64_t slots) {
  tree_->Compact(view, tokens, slots);
  CheckInDebug(*tree_);
}

void PrefixCache::Restore(View& view, std::int64_t tokens, std::int64_t slots, PageGap gap) {
  tree_->Restore(view, tokens, slots, gap);
  CheckInDebug(*tree_);
}

void PrefixCache::Drop(View& view, std::int64_t front, std::int64_t until) {
  tree_->Drop(view, front, until);
  CheckInDebug(*tree_);
}

void PrefixCache::Close(View& view, Tail tail) {
  tree_->Close(view, tail);
  CheckInDebug(*tree_);
}

void PrefixCache::Flush(NamespaceId name_space) {
  tree_->Flush(name_space);
  CheckInDebug(*tree_);
}

absl::Status PrefixCache::CheckInvariants() const { return tree_->CheckInvariants(); }

}  // namespace banyan::radix
