#include "tests/bench/service.h"

#include <utility>

#include "base/check.h"
#include "tests/bench/forest.h"

namespace banyan::bench {
namespace {

constexpr std::int32_t kPageSize = 16;
constexpr std::uint64_t kFilling = std::uint64_t{1} << 42;  // texts of their own

}  // namespace

Service::Service(const scheduler::Options& options, std::int32_t pages)
    : cache_({.page_size = kPageSize, .pages = pages}), scheduler_(options, cache_, this) {}

void Service::Submit(std::vector<TokenId> prompt, std::int64_t max_tokens, int kind) {
  const auto capacity = static_cast<std::size_t>(max_tokens) + 2;
  auto stream = std::make_shared<scheduler::TokenStream>(capacity, [] {});
  scheduler::Request request;
  request.id = RequestId{clients_.size()};
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.submitted = now_;
  request.stream = stream;
  clients_.push_back({.kind = kind, .submitted_after = admissions_, .stream = std::move(stream)});
  scheduler_.Submit(std::move(request), now_);
}

bool Service::Next() {
  admitted_.clear();
  finished_.clear();
  batch_ = &scheduler_.Next(now_);
  return !batch_->empty();
}

void Service::Answer() {
  result_.step = batch_->step;
  result_.sequences.resize(batch_->sequences.size());
  for (std::size_t i = 0; i < result_.sequences.size(); ++i) {
    const Sequence& sequence = batch_->sequences[i];
    const auto place = static_cast<std::uint64_t>(sequence.first_position) +
                       (static_cast<std::uint64_t>(sequence.request) << 20);
    result_.sequences[i].token = sequence.logits == Logits::kNone ? -1 : Text(place, 1).front();
    // Who reads an answer does so while the model computes.
    clients_[static_cast<std::size_t>(sequence.request)].stream->Take(events_);
  }
}

void Service::Complete() { scheduler_.Complete(result_, now_); }

void Service::EndStep(Tick took) {
  now_ += took;
  scheduler_.TakeLeft();
}

std::int64_t Service::batch_tokens() const {
  std::int64_t tokens = 0;
  for (const Sequence& sequence : batch_->sequences) {
    tokens += static_cast<std::int64_t>(sequence.tokens.size());
  }
  return tokens;
}

void Service::Cache(std::span<const TokenId> tokens) {
  tokens = tokens.first(tokens.size() - tokens.size() % kPageSize);
  const NamespaceId name_space = cache_.OpenNamespace(scheduler::NamespaceName("", ""));
  radix::View view = cache_.Open(name_space, tokens, static_cast<std::int64_t>(tokens.size()));
  const auto pages = static_cast<std::int32_t>(tokens.size() / kPageSize);
  CHECK(cache_.Grow(view, pages - static_cast<std::int32_t>(view.page_table().size())));
  if (cache_.PendingCopy(view)) cache_.CopyDone(view);
  cache_.Append(view, tokens.subspan(static_cast<std::size_t>(view.tokens())));
}

void Service::FillPool() {
  while (cache_.stats().pages[static_cast<int>(radix::PageState::kFree)] > 0) {
    Cache(Text(kFilling + texts_++, 1024));
  }
}

void Service::OnAdmitted(const scheduler::Request& request, const scheduler::Admission& admission) {
  const Client& client = clients_[static_cast<std::size_t>(request.id)];
  admitted_.push_back({.kind = client.kind,
                       .prompt_tokens = admission.prompt_tokens,
                       .cached_tokens = admission.cached_tokens,
                       .waited = admissions_ - client.submitted_after});
  ++admissions_;
}

void Service::OnFinished(const scheduler::Request& request, scheduler::FinishReason reason,
                         const scheduler::Usage& usage, Tick) {
  // Those that remain when the scheduler ends have their own reason.
  CHECK(reason == scheduler::FinishReason::kLength || reason == scheduler::FinishReason::kShutdown);
  Client& client = clients_[static_cast<std::size_t>(request.id)];
  finished_.push_back({.kind = client.kind,
                       .prompt_tokens = usage.prompt_tokens,
                       .cached_tokens = usage.cached_tokens,
                       .waited = 0});
  client.stream = nullptr;
}

}  // namespace banyan::bench
