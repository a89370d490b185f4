#include "loadtest/simulate/replica.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "loadtest/simulate/tokens.h"

namespace banyan::loadtest {
namespace {

// At most one event waits: each is taken when it comes.
constexpr std::size_t kStreamEvents = 1;

}  // namespace

Replica::Replica(const radix::Options& cache, const scheduler::Options& options,
                 const CostModel& cost, std::vector<Job>& jobs, Histogram& inter_token)
    : cost_(cost),
      jobs_(jobs),
      inter_token_(inter_token),
      cache_(cache),
      name_space_(cache_.OpenNamespace(scheduler::NamespaceName("", ""))),
      scheduler_(options, cache_, this) {}

void Replica::Submit(std::uint64_t job, std::vector<TokenId> prompt, std::int64_t output_tokens,
                     Tick now) {
  ++load_;
  scheduler::Request request;
  request.id = RequestId(job);
  request.prompt = std::move(prompt);
  request.max_tokens = output_tokens;
  request.wants_logprobs = false;
  request.submitted = now;
  const auto self = std::make_shared<scheduler::TokenStream*>();
  request.stream = std::make_shared<scheduler::TokenStream>(
      kStreamEvents, [this, self] { (*self)->Take(events_); });
  *self = request.stream.get();
  scheduler_.Submit(std::move(request), now);
}

std::optional<Tick> Replica::Step(Tick now) {
  now_ = now;
  if (in_flight_ != nullptr) Complete();
  const Batch& batch = scheduler_.Next(now);
  if (batch.empty()) return std::nullopt;
  in_flight_ = &batch;
  const std::int64_t held = cache_.options().pages - cache_.available_pages();
  most_pages_ = std::max(most_pages_, held);
  return now + StepTime(cost_, batch);
}

void Replica::Complete() {
  const Batch& batch = *std::exchange(in_flight_, nullptr);
  result_.step = batch.step;
  result_.sequences.resize(batch.sequences.size());
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const Sequence& sequence = batch.sequences[i];
    TokenId& token = result_.sequences[i].token;
    token = -1;
    if (sequence.logits == Logits::kNone) continue;
    const Job& job = JobOf(sequence.request);
    const std::int64_t known = sequence.first_position + std::ssize(sequence.tokens);
    token = TokenOf(job.answer_key, known - job.prompt_tokens);
  }
  scheduler_.Complete(result_, now_);
}

std::int64_t Replica::Cached(std::span<const TokenId> prompt) const {
  return cache_.MatchLength(name_space_, prompt);
}

void Replica::TakeFinished(std::vector<std::uint64_t>& to) {
  to.clear();
  to.swap(finished_);
}

void Replica::OnFirstToken(const scheduler::Request& request, Tick) {
  Job& job = JobOf(request.id);
  job.first_token = job.last_token = now_;
}

void Replica::OnToken(const scheduler::Request& request, Tick since_last) {
  JobOf(request.id).last_token = now_;
  inter_token_.Record(since_last.count());
}

void Replica::OnFinished(const scheduler::Request& request, scheduler::FinishReason reason,
                         const scheduler::Usage& usage, Tick) {
  Job& job = JobOf(request.id);
  job.reason = reason;
  job.usage = usage;
  --load_;
  finished_.push_back(static_cast<std::uint64_t>(request.id));
}

}  // namespace banyan::loadtest
