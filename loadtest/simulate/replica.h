// One server of the simulation: a scheduler over a tree, whose steps take as long as the cost model
// says. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "loadtest/measure/histogram.h"
#include "loadtest/simulate/cost_model.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::loadtest {

// A request as a replica sees it. Its address stays valid until it is finished.
struct Job {
  std::uint64_t answer_key = 0;  // what the tokens of its answer are
  std::int64_t prompt_tokens = 0;
  std::optional<Tick> first_token{};
  Tick last_token{0};
  scheduler::FinishReason reason = scheduler::FinishReason::kNone;
  scheduler::Usage usage{};
};

class Replica final : public scheduler::Observer {
 public:
  // `jobs` are all requests, by their ids; `inter_token` counts the gaps between tokens. Both
  // outlive the replica.
  Replica(const radix::Options& cache, const scheduler::Options& options, const CostModel& cost,
          std::vector<Job>& jobs, Histogram& inter_token);

  // The request waits for the next step to begin. It fits (scheduler::CheckFits).
  void Submit(std::uint64_t job, std::vector<TokenId> prompt, std::int64_t output_tokens, Tick now);
  // Ends the step that runs, if one does, and begins the next one; when that will end, or nullopt
  // when there is nothing to do.
  std::optional<Tick> Step(Tick now);

  std::int64_t load() const { return load_; }  // requests submitted and not finished
  bool is_idle() const { return !in_flight_; }
  std::int64_t Cached(std::span<const TokenId> prompt) const;
  // Jobs that finished since the last call, into `to` (cleared first).
  void TakeFinished(std::vector<std::uint64_t>& to);

  std::int64_t most_pages() const { return most_pages_; }
  std::int64_t preemptions() const { return scheduler_.stats().preemptions; }
  std::int64_t evicted_pages() const { return cache_.stats().evicted_pages; }

  void OnAdmitted(const scheduler::Request&, const scheduler::Admission&) override {}
  void OnPreempted(const scheduler::Request&, std::int64_t) override {}
  void OnFirstToken(const scheduler::Request& request, Tick since_submit) override;
  void OnToken(const scheduler::Request& request, Tick since_last) override;
  void OnFinished(const scheduler::Request& request, scheduler::FinishReason reason,
                  const scheduler::Usage& usage, Tick since_submit) override;

 private:
  void Complete();
  Job& JobOf(RequestId request) { return jobs_[static_cast<std::size_t>(request)]; }

  const CostModel cost_;
  std::vector<Job>& jobs_;
  Histogram& inter_token_;
  radix::PrefixCache cache_;
  NamespaceId name_space_;
  Tick now_{0};
  std::int64_t load_ = 0;
  std::int64_t most_pages_ = 0;
  std::vector<std::uint64_t> finished_;
  std::vector<scheduler::StreamEvent> events_;  // of no interest: streams are emptied into it
  const Batch* in_flight_ = nullptr;
  StepResult result_;
  scheduler::Scheduler scheduler_;  // tells of its end, so it goes first
};

}  // namespace banyan::loadtest
