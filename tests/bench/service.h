// A scheduler with its tree, and nobody who computes: every token that it asks for is made up.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "model/batch.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::bench {

class Service : public scheduler::Observer {
 public:
  Service(const scheduler::Options& options, std::int32_t pages);

  // `kind` is the caller's, told again of what is admitted and finished.
  void Submit(std::vector<TokenId> prompt, std::int64_t max_tokens, int kind = 0);

  // What is timed of a step, in this order: Next, then Complete with the result that Answer made.
  bool Next();  // false when there is nothing to run
  void Answer();
  void Complete();
  // Reads the streams of the step and sets the clock forward; afterwards the lists below are of
  // this step.
  void EndStep(Tick took);

  void Wait(Tick time) { now_ += time; }

  // Puts the KV of `tokens` into the tree, as if computed before.
  void Cache(std::span<const TokenId> tokens);
  // Texts of 1,024 tokens that nobody asks for, until no page is free.
  void FillPool();

  struct Event {
    int kind = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t cached_tokens = 0;
    std::int64_t waited = 0;  // admissions between its Submit and its own
  };
  const std::vector<Event>& admitted() const { return admitted_; }
  const std::vector<Event>& finished() const { return finished_; }

  const scheduler::Scheduler& scheduler() const { return scheduler_; }
  const radix::PrefixCache& cache() const { return cache_; }
  const Batch& batch() const { return *batch_; }
  std::int64_t batch_tokens() const;

 private:
  void OnAdmitted(const scheduler::Request& request,
                  const scheduler::Admission& admission) override;
  void OnPreempted(const scheduler::Request&, std::int64_t) override {}
  void OnFirstToken(const scheduler::Request&, Tick) override {}
  void OnToken(const scheduler::Request&, Tick) override {}
  void OnFinished(const scheduler::Request& request, scheduler::FinishReason reason,
                  const scheduler::Usage& usage, Tick since_submit) override;

  struct Client {  // by RequestId
    int kind = 0;
    std::int64_t submitted_after = 0;  // admissions
    std::shared_ptr<scheduler::TokenStream> stream;
  };
  radix::PrefixCache cache_;
  std::vector<Client> clients_;
  const Batch* batch_ = nullptr;
  StepResult result_;
  std::vector<scheduler::StreamEvent> events_;
  std::vector<Event> admitted_;
  std::vector<Event> finished_;
  std::int64_t admissions_ = 0;
  std::uint64_t texts_ = 0;
  Tick now_{0};
  scheduler::Scheduler scheduler_;  // ends first: it tells of what remains
};

}  // namespace banyan::bench
