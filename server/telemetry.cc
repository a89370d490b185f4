#include "server/telemetry.h"

#include <cstddef>
#include <optional>

#include "server/logging.h"

namespace banyan::server {

void Telemetry::OnAdmitted(const scheduler::Request&, const scheduler::Admission& admission) {
  const auto prompt = static_cast<double>(admission.prompt_tokens);
  const auto cached = static_cast<double>(admission.cached_tokens);
  metrics_.Add(Counter::kPromptTokens, prompt);
  metrics_.Add(Counter::kCachedPromptTokens, cached);
  metrics_.Add(Counter::kMissedPromptTokens, prompt - cached);
  metrics_.Observe(Histogram::kHitTokens, cached);
  metrics_.Observe(Histogram::kQueue, Seconds(admission.queued));
}

void Telemetry::OnPreempted(const scheduler::Request&, std::int64_t output_tokens) {
  preemptions_.Add(output_tokens);
}

void Telemetry::OnFirstToken(const scheduler::Request&, Tick since_submit) {
  metrics_.Add(Counter::kSampledTokens);
  metrics_.Observe(Histogram::kTimeToFirstToken, Seconds(since_submit));
}

void Telemetry::OnToken(const scheduler::Request&, Tick since_last) {
  metrics_.Add(Counter::kSampledTokens);
  metrics_.Observe(Histogram::kInterToken, Seconds(since_last));
}

// An end is counted where the answer is written: only there is it known what the client was told.
void Telemetry::OnFinished(const scheduler::Request&, scheduler::FinishReason,
                           const scheduler::Usage&, Tick) {}

void Telemetry::OnEvicted(Tick lifetime, Tick idle) {
  metrics_.Observe(Histogram::kPageLifetime, Seconds(lifetime));
  metrics_.Observe(Histogram::kIdleBeforeEviction, Seconds(idle));
}

void Telemetry::OnReused(std::int32_t, Tick gap) {
  metrics_.Observe(Histogram::kReuseGap, Seconds(gap));
}

void Telemetry::OnStep(Tick forward) { metrics_.Observe(Histogram::kStep, Seconds(forward)); }

void Telemetry::OnDeviceFailure() { metrics_.Add(Counter::kDeviceFailures); }

void Telemetry::Publish(const scheduler::Stats& scheduler, const radix::Stats& cache, Tick now) {
  auto set = [this](Gauge gauge, std::int64_t value) {
    metrics_.Set(gauge, static_cast<double>(value));
  };
  auto add = [this](Counter counter, std::int64_t total, std::int64_t shown) {
    if (total > shown) metrics_.Add(counter, static_cast<double>(total - shown));
  };
  set(Gauge::kRunning, scheduler.running);
  set(Gauge::kWaiting, scheduler.waiting);
  set(Gauge::kFollowing, scheduler.following);
  set(Gauge::kReservedPages, scheduler.reserved_pages);
  std::int64_t pool = 0;
  for (int state = 0; state < radix::kPageStates; ++state) {
    set(static_cast<Gauge>(static_cast<int>(Gauge::kPagesFree) + state), cache.pages[state]);
    pool += cache.pages[state];
  }
  set(Gauge::kEvictablePages, cache.evictable);
  set(Gauge::kCachedTokens, cache.cached_tokens);
  set(Gauge::kTreeNodes, cache.nodes);
  set(Gauge::kNamespaces, cache.namespaces);
  const std::int64_t unused =
      cache.pages[static_cast<int>(radix::PageState::kFree)] + cache.evictable;
  metrics_.Set(Gauge::kKvUsage,
               pool == 0 ? 0 : static_cast<double>(pool - unused) / static_cast<double>(pool));

  add(Counter::kComputedPromptTokens, scheduler.computed_prompt_tokens,
      last_scheduler_.computed_prompt_tokens);
  add(Counter::kRecomputedTokens, scheduler.recomputed_tokens, last_scheduler_.recomputed_tokens);
  add(Counter::kPreemptions, scheduler.preemptions, last_scheduler_.preemptions);
  for (std::size_t type = 0; type < scheduler.dropped_tokens.size(); ++type) {
    add(static_cast<Counter>(static_cast<std::size_t>(Counter::kDroppedByStreaming) + type),
        scheduler.dropped_tokens[type], last_scheduler_.dropped_tokens[type]);
  }
  add(Counter::kPassedOver, scheduler.passes, last_scheduler_.passes);
  add(Counter::kSteps, scheduler.steps, last_scheduler_.steps);
  add(Counter::kFailedSteps, scheduler.failed_steps, last_scheduler_.failed_steps);
  add(Counter::kEvictedPages, cache.evicted_pages, last_cache_.evicted_pages);
  add(Counter::kDeduplicatedPages, cache.deduplicated_pages, last_cache_.deduplicated_pages);
  add(Counter::kCopiedPages, cache.copied_pages, last_cache_.copied_pages);
  last_scheduler_ = scheduler;
  last_cache_ = cache;
  LogPreemptions(scheduler, now);
}

void Telemetry::LogPreemptions(const scheduler::Stats& scheduler, Tick now) {
  const std::optional<PreemptionLog::Line> line = preemptions_.Take(now);
  if (!line) return;
  Log(Severity::kWarning, "requests preempted",
      {{"requests", line->requests},
       {"output_tokens", line->output_tokens},
       {"running", scheduler.running},
       {"waiting", scheduler.waiting}});
}

}  // namespace banyan::server
