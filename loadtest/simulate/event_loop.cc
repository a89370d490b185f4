#include "loadtest/simulate/event_loop.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "loadtest/simulate/pool.h"
#include "loadtest/simulate/tokens.h"

namespace banyan::loadtest {
namespace {

// Of the longest request, and of all.
struct Sizes {
  std::int64_t longest = 0;
  std::int32_t pages = 0;
};

Sizes Measure(const Workload& workload, std::int32_t page_tokens) {
  UnlimitedPool pool(page_tokens);
  std::int64_t longest = 1;
  for (const Conversation& conversation : workload.conversations) {
    std::int64_t tokens = 0;
    for (const Turn& turn : conversation.turns) {
      for (const Message& message : turn.messages) tokens += CountTokens(message, 0);
      tokens += AnswerTokens(turn);
      longest = std::max(longest, tokens);
      pool.Add(tokens);
    }
  }
  return {longest, pool.pages()};
}

}  // namespace

EventLoop::EventLoop(const Workload& workload, const SimulateOptions& options)
    : workload_(workload),
      options_(options),
      bounds_(options.scheduler),
      cache_{.page_size = options.page_tokens,
             .pages = static_cast<std::int32_t>(options.pool_pages),
             .eviction = options.eviction},
      router_(options.routing, options.replicas),
      talks_(workload.conversations.size()),
      load_(static_cast<std::size_t>(options.replicas)),
      woken_(static_cast<std::size_t>(options.replicas)) {
  const Sizes sizes = Measure(workload, options.page_tokens);
  if (bounds_.context_length == 0) bounds_.context_length = sizes.longest;
  if (options.pool_pages == 0) cache_.pages = sizes.pages;
  const auto turns = static_cast<std::size_t>(CountTurns(workload));
  jobs_.reserve(turns);
  asked_.reserve(turns);
  result_.records.reserve(turns);
  for (std::int32_t i = 0; i < options.replicas; ++i) {
    replicas_.push_back(
        std::make_unique<Replica>(cache_, bounds_, options.cost, jobs_, result_.inter_token));
  }
}

SimulatedRow EventLoop::Run() {
  for (std::int64_t i = 0; i < std::ssize(talks_); ++i) Schedule(i, Tick(0));
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.kind == Event::Kind::kArrival) {
      Arrive(event.index, event.at);
    } else {
      Step(event.index, event.at);
    }
  }
  row_.requests = std::ssize(result_.records);
  CHECK(row_.requests == CountTurns(workload_));
  for (const auto& replica : replicas_) {
    CHECK(replica->load() == 0);
    row_.preemptions += replica->preemptions();
    row_.evicted_pages += replica->evicted_pages();
    row_.most_pages = std::max(row_.most_pages, replica->most_pages());
  }
  row_.summary = Summarize(result_, options_.slo);
  return std::move(row_);
}

const std::vector<Turn>& EventLoop::Turns(std::int64_t conversation) const {
  return workload_.conversations[static_cast<std::size_t>(conversation)].turns;
}

// The next turn, when there is one.
void EventLoop::Schedule(std::int64_t conversation, Tick answered) {
  Talk& talk = talks_[static_cast<std::size_t>(conversation)];
  const std::vector<Turn>& turns = Turns(conversation);
  if (talk.turn == std::ssize(turns)) return;
  const Turn& turn = turns[static_cast<std::size_t>(talk.turn)];
  talk.scheduled = turn.at.value_or(answered + turn.think);
  talk.sent = std::max(talk.scheduled, answered);
  const Tick before(std::llround(options_.cost.request));
  events_.push({talk.sent + before, Event::Kind::kArrival, conversation});
}

void EventLoop::Arrive(std::int64_t conversation, Tick now) {
  Talk& talk = talks_[static_cast<std::size_t>(conversation)];
  std::vector<TokenId> prompt = Prompt(workload_, conversation, talk.turn, talk.answers, 0);
  const std::int64_t output =
      AnswerTokens(Turns(conversation)[static_cast<std::size_t>(talk.turn)]);
  const auto size = std::ssize(prompt);
  absl::Status fits = scheduler::CheckFits(bounds_, cache_, size, output);
  if (size == 0) fits = absl::InvalidArgumentError("the prompt is empty");
  if (!fits.ok()) {
    Refuse(conversation, fits, now);
    return;
  }
  if (talk.turn == 0) talk.first_prompt = size;
  const auto job = static_cast<std::uint64_t>(jobs_.size());
  jobs_.push_back({.answer_key = AnswerKey(conversation, talk.turn), .prompt_tokens = size});
  asked_.push_back({conversation, talk.scheduled, talk.sent});
  const std::int32_t picked = Route(talk, prompt);
  Replica& replica = *replicas_[static_cast<std::size_t>(picked)];
  replica.Submit(job, std::move(prompt), output, now);
  if (!replica.is_idle() || woken_[static_cast<std::size_t>(picked)]) return;
  woken_[static_cast<std::size_t>(picked)] = true;
  events_.push({now, Event::Kind::kStep, picked});
}

// It, and all turns that would have followed: they hold it, and are longer.
void EventLoop::Refuse(std::int64_t conversation, const absl::Status& why, Tick now) {
  Talk& talk = talks_[static_cast<std::size_t>(conversation)];
  for (; talk.turn < std::ssize(Turns(conversation)); ++talk.turn) {
    Record record = NewRecord(conversation, talk.turn);
    record.outcome = Outcome::kStatus;
    record.status = 400;
    record.error = std::string(why.message());
    record.scheduled = talk.scheduled;
    record.sent = talk.sent;
    record.end = now;
    result_.records.push_back(std::move(record));
    ++row_.refused;
  }
  result_.duration = std::max(result_.duration, now);
}

std::int32_t EventLoop::Route(const Talk& talk, const std::vector<TokenId>& prompt) {
  for (std::size_t i = 0; i < load_.size(); ++i) load_[i] = replicas_[i]->load();
  const auto beginning = std::span<const TokenId>(prompt).first(
      std::min(kHashedTokens, static_cast<std::size_t>(talk.first_prompt)));
  return router_.Pick(load_, beginning, [&](std::int32_t replica) {
    return replicas_[static_cast<std::size_t>(replica)]->Cached(prompt);
  });
}

void EventLoop::Step(std::int64_t index, Tick now) {
  woken_[static_cast<std::size_t>(index)] = false;
  Replica& replica = *replicas_[static_cast<std::size_t>(index)];
  if (const auto end = replica.Step(now)) events_.push({*end, Event::Kind::kStep, index});
  replica.TakeFinished(finished_);
  for (const std::uint64_t job : finished_) Finish(job, now);
}

void EventLoop::Finish(std::uint64_t number, Tick now) {
  const Job& job = jobs_[number];
  const Asked& asked = asked_[number];
  CHECK(job.reason == scheduler::FinishReason::kLength && job.first_token);
  Talk& talk = talks_[static_cast<std::size_t>(asked.conversation)];
  Record record = NewRecord(asked.conversation, talk.turn);
  record.status = 200;
  record.scheduled = asked.scheduled;
  record.sent = asked.sent;
  record.first_content = job.first_token;
  record.last_content = job.last_token;
  record.end = now;
  record.content_events = record.output_tokens = job.usage.output_tokens;
  record.prompt_tokens = record.wanted_prompt_tokens = job.usage.prompt_tokens;
  record.cached_tokens = job.usage.cached_tokens;
  record.finish_reason = "length";
  result_.records.push_back(std::move(record));
  result_.duration = std::max(result_.duration, now);
  row_.prompt_tokens += job.usage.prompt_tokens;
  row_.cached_tokens += job.usage.cached_tokens;
  talk.answers.push_back(job.usage.output_tokens);
  ++talk.turn;
  Schedule(asked.conversation, now);
}

Record EventLoop::NewRecord(std::int64_t conversation, std::int64_t turn) const {
  Record record;
  record.conversation = conversation;
  record.turn = Turns(conversation)[static_cast<std::size_t>(turn)].number;
  return record;
}

}  // namespace banyan::loadtest
