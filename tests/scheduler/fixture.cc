#include "tests/scheduler/fixture.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::scheduler {

Engine::Engine(const EngineOptions& options)
    : options_(options),
      cache_(radix::Options{
          .page_size = options.page_size, .pages = options.pages, .sharing = options.sharing}),
      model_(options.page_size, options.pages,
             options.sharing == radix::Sharing::kPages ? options.max_running : 0) {
  const Options scheduler{.max_batch_tokens = options.max_batch_tokens,
                          .mixed_prefill_tokens = options.mixed_prefill_tokens,
                          .max_running = options.max_running,
                          .context_length = options.context_length,
                          .prefix_caching = options.prefix_caching,
                          .max_passes = options.max_passes,
                          .ageing = options.ageing,
                          .quantum = options.quantum,
                          .headroom_tokens = options.headroom_tokens,
                          .max_pages_aside = options.max_pages_aside};
  scheduler_ = std::make_unique<Scheduler>(scheduler, cache_, this);
}

Engine::~Engine() { scheduler_.reset(); }

RequestId Engine::Submit(Ask ask) {
  const RequestId id{next_id_++};
  Answer& answer = answers_[id];
  answer.ask = ask;
  answer.stream = std::make_shared<TokenStream>(ask.stream_capacity, [] {});
  Request request;
  request.id = id;
  request.tenant = std::move(ask.tenant);
  request.cache_salt = std::move(ask.cache_salt);
  request.priority = ask.priority;
  request.prompt = std::move(ask.prompt);
  request.max_tokens = ask.max_tokens;
  request.min_tokens = ask.min_tokens;
  request.logit_bias = std::move(ask.logit_bias);
  request.top_logprobs = ask.top_logprobs;
  request.score_prompt = ask.score_prompt;
  request.kv_policy = ask.kv_policy;
  request.sampling = ask.sampling;
  request.end_tokens = std::move(ask.end_tokens);
  request.submitted = ask.submitted.value_or(clock_.Now());
  request.stream = answer.stream;
  scheduler_->Submit(std::move(request), clock_.Now());
  ReadStreams();
  return id;
}

RequestId Engine::Submit(std::vector<TokenId> prompt, std::int64_t max_tokens) {
  Ask ask;
  ask.prompt = std::move(prompt);
  ask.max_tokens = max_tokens;
  return Submit(std::move(ask));
}

void Engine::Cancel(RequestId request) {
  scheduler_->Cancel({request, CancelReason::kClientGone, 0}, clock_.Now());
  ReadStreams();
  CheckInvariants();
}

void Engine::StopString(RequestId request, std::int64_t output_tokens) {
  scheduler_->Cancel({request, CancelReason::kStopString, output_tokens}, clock_.Now());
  ReadStreams();
  CheckInvariants();
}

const Batch& Engine::Begin() {
  batch_ = &scheduler_->Next(clock_.Now());
  chunks_.clear();
  copies_ = batch_->copies;
  std::int64_t tokens = 0;
  for (const Sequence& s : batch_->sequences) {
    chunks_.push_back({s.request, s.first_position, static_cast<std::int64_t>(s.tokens.size()),
                       s.logits != Logits::kNone});
    tokens += chunks_.back().tokens;
    CheckSequence(s);
  }
  EXPECT_LE(tokens, options_.max_batch_tokens);
  EXPECT_LE(scheduler_->stats().running, options_.max_running);
  ReadStreams();
  CheckInvariants();
  return *batch_;
}

void Engine::End() {
  const StepResult result = model_.Forward(*batch_);
  for (std::size_t i = 0; i < result.sequences.size(); ++i) {
    const TokenId token = result.sequences[i].token;
    if (token >= 0) answers_.at(batch_->sequences[i].request).sampled.push_back(token);
  }
  Return(result);
}
void Engine::EndFailed() { Return(model_.Fail(*batch_)); }

void Engine::Return(const StepResult& result) {
  scheduler_->Complete(result, clock_.Now());
  batch_ = nullptr;
  ReadStreams();
  CheckInvariants();
}

bool Engine::Step() {
  if (Begin().empty()) return false;
  End();
  return true;
}

bool Engine::FailStep() {
  if (Begin().empty()) return false;
  EndFailed();
  return true;
}

void Engine::Run(int bound) {
  for (int i = 0; i < bound; ++i) {
    if (!Step()) {
      EXPECT_TRUE(scheduler_->idle()) << "nothing runs, but requests wait";
      EXPECT_EQ(model_.pages_aside(), 0) << "nobody comes back for what was put aside";
      return;
    }
  }
  ADD_FAILURE() << "still busy after " << bound << " steps";
}

void Engine::ShutDown() {
  scheduler_.reset();
  ReadStreams();
}

void Engine::ReadStreams() {
  std::vector<StreamEvent> events;
  for (auto& [id, answer] : answers_) {
    if (!answer.reads) continue;
    answer.stream->Take(events);
    for (const StreamEvent& event : events) {
      EXPECT_FALSE(answer.finished()) << "an event after the end";
      switch (event.kind) {
        case StreamEvent::Kind::kAdmitted:
          EXPECT_FALSE(answer.admitted);
          answer.admitted = true;
          answer.cached_tokens = event.cached_tokens;
          break;
        case StreamEvent::Kind::kPromptScores:
          EXPECT_TRUE(answer.admitted && answer.tokens.empty());
          EXPECT_FALSE(event.scores.empty());
          answer.prompt_scores.insert(answer.prompt_scores.end(), event.scores.begin(),
                                      event.scores.end());
          break;
        case StreamEvent::Kind::kToken:
          EXPECT_TRUE(answer.admitted);
          answer.tokens.push_back(event.token);
          answer.scored_tokens.push_back({event.token, event.log_probability, event.top});
          break;
        case StreamEvent::Kind::kFinished:
          answer.reason = event.reason;
          answer.usage = event.usage;
          break;
      }
    }
  }
}

// The sequence's spans against what was asked and what was sampled so far.
void Engine::CheckSequence(const Sequence& s) const {
  const Answer& answer = answers_.at(s.request);
  const Ask& ask = answer.ask;
  const std::vector<TokenId> path = Join(ask.prompt, answer.sampled);
  const auto end = static_cast<std::size_t>(s.first_position) + s.tokens.size();
  ASSERT_LE(end, path.size());
  EXPECT_TRUE(std::equal(s.tokens.begin(), s.tokens.end(), path.begin() + s.first_position));
  EXPECT_EQ(s.top_logprobs, ask.top_logprobs);
  EXPECT_EQ(s.window.window, WindowOf(ask.kv_policy).window);
  EXPECT_EQ(s.window.sinks, WindowOf(ask.kv_policy).sinks);

  // Scores that were sent are not asked for again when their tokens are.
  const bool wants_scores =
      ask.score_prompt &&
      s.first_position >= static_cast<std::int64_t>(answer.prompt_scores.size());
  std::vector<TokenId> scored;
  for (std::size_t i = static_cast<std::size_t>(s.first_position) + 1; i <= end; ++i) {
    if (wants_scores && i < ask.prompt.size()) scored.push_back(path[i]);
  }
  EXPECT_THAT(s.scored, testing::ElementsAreArray(scored));

  const bool samples = end == path.size() && ask.max_tokens > 0;
  EXPECT_EQ(s.logits, samples ? Logits::kSampleLast : Logits::kNone);
  if (!samples) return;
  EXPECT_THAT(s.context,
              testing::ElementsAreArray(ask.sampling.penalizes() ? path : std::vector<TokenId>()));
  EXPECT_EQ(s.prompt_tokens, static_cast<std::int64_t>(ask.prompt.size()));
  const bool early = static_cast<std::int64_t>(answer.sampled.size()) < ask.min_tokens;
  EXPECT_THAT(s.forbidden,
              testing::UnorderedElementsAreArray(early ? ask.end_tokens : std::vector<TokenId>()));
  ASSERT_EQ(s.logit_bias.size(), ask.logit_bias.size());
  for (std::size_t i = 0; i < s.logit_bias.size(); ++i) {
    EXPECT_EQ(s.logit_bias[i].token, ask.logit_bias[i].token);
    EXPECT_EQ(s.logit_bias[i].bias, ask.logit_bias[i].bias);
  }
}

void Engine::CheckInvariants() const {
  const absl::Status status = cache_.CheckInvariants();
  ASSERT_TRUE(status.ok()) << status.ToString();
  const absl::Status accounts = scheduler_->CheckInvariants();
  ASSERT_TRUE(accounts.ok()) << accounts.ToString();
}

std::int64_t Engine::Cached(const std::vector<TokenId>& path, const std::string& cache_salt) {
  radix::View view = cache_.Open(cache_.OpenNamespace(NamespaceName("", cache_salt)), path,
                                 static_cast<std::int64_t>(path.size()));
  const std::int64_t tokens = view.tokens();
  std::vector<PageId> pages(view.page_table().begin(), view.page_table().end());
  std::int64_t readable = std::int64_t{view.leased_pages()} * options_.page_size;
  if (tokens > readable && cache_.Grow(view, 1)) {  // the partial page, where it is copied from
    pages.push_back(cache_.PendingCopy(view)->from);
    readable = tokens;
  }
  EXPECT_TRUE(model_.Holds(pages, std::span(path).first(static_cast<std::size_t>(readable))))
      << "the cache holds something else than the path";
  return tokens;
}

std::int64_t Engine::HeldPages() const {
  const radix::Stats stats = cache_.stats();
  return options_.pages - stats.pages[static_cast<int>(radix::PageState::kFree)] - stats.evictable;
}

void Engine::OnPreempted(const Request& request, std::int64_t) {
  ++answers_.at(request.id).observed.preempted;
}

void Engine::OnAdmitted(const Request& request, const Admission& admission) {
  Answer::Observed& seen = answers_.at(request.id).observed;
  ++seen.admitted;
  seen.cached_tokens = admission.cached_tokens;
  seen.queued = admission.queued;
}

void Engine::OnFirstToken(const Request& request, Tick since_submit) {
  Answer::Observed& seen = answers_.at(request.id).observed;
  EXPECT_EQ(seen.admitted, 1);
  ++seen.first_token;
  seen.first_token_after = since_submit;
}

void Engine::OnToken(const Request& request, Tick since_last) {
  Answer::Observed& seen = answers_.at(request.id).observed;
  EXPECT_EQ(seen.first_token, 1);
  ++seen.more_tokens;
  seen.since_last = since_last;
}

void Engine::OnFinished(const Request& request, FinishReason reason, const Usage& usage,
                        Tick since_submit) {
  Answer& answer = answers_.at(request.id);
  if (answer.reads) ReadStreams();
  EXPECT_FALSE(answer.finished()) << "the stream had its end before the observer was told";
  Answer::Observed& seen = answer.observed;
  ++seen.finished;
  seen.reason = reason;
  seen.usage = usage;
  seen.finished_after = since_submit;
}

void PrintTo(const Chunk& chunk, std::ostream* out) {
  *out << "{request " << static_cast<std::uint64_t>(chunk.request) << ", first " << chunk.first
       << ", tokens " << chunk.tokens << (chunk.samples ? ", samples}" : "}");
}

}  // namespace banyan::scheduler
