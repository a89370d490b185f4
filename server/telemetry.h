// What the engine thread tells metrics and log while it works.
#pragma once

#include "radix/prefix_cache.h"
#include "scheduler/inbox.h"
#include "scheduler/scheduler.h"
#include "server/metrics.h"
#include "server/preemption_log.h"

namespace banyan::server {

// Belongs to the engine thread. `metrics` outlives it.
class Telemetry final : public scheduler::Observer, public radix::Observer {
 public:
  explicit Telemetry(Metrics& metrics) : metrics_(metrics) {}

  void OnAdmitted(const scheduler::Request& request,
                  const scheduler::Admission& admission) override;
  void OnPreempted(const scheduler::Request& request, std::int64_t output_tokens) override;
  void OnFirstToken(const scheduler::Request& request, Tick since_submit) override;
  void OnToken(const scheduler::Request& request, Tick since_last) override;
  void OnFinished(const scheduler::Request& request, scheduler::FinishReason reason,
                  const scheduler::Usage& usage, Tick since_submit) override;

  void OnEvicted(Tick lifetime, Tick idle) override;
  void OnReused(std::int32_t pages, Tick gap) override;

  void OnStep(Tick forward);
  void OnDeviceFailure();
  // After every step, and when requests come or go.
  void Publish(const scheduler::Stats& scheduler, const radix::Stats& cache, Tick now);

 private:
  void LogPreemptions(const scheduler::Stats& scheduler, Tick now);

  Metrics& metrics_;
  PreemptionLog preemptions_;
  scheduler::Stats last_scheduler_;  // what the counters show
  radix::Stats last_cache_;
};

}  // namespace banyan::server
