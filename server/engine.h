// The engine thread: the one that owns scheduler, tree, page pool and model.
//
//   loop:  mail = inbox.Drain  ->  Submit, Cancel  ->  Next  ->  Forward  ->  Complete
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "base/clock.h"
#include "model/model.h"
#include "radix/prefix_cache.h"
#include "scheduler/inbox.h"
#include "scheduler/scheduler.h"
#include "server/metrics.h"
#include "server/telemetry.h"

namespace banyan::server {

struct EngineOptions {
  radix::Options cache;  // pages: what the model has
  scheduler::Options scheduling;
  std::size_t max_queue = 256;
  // Called once, by the engine thread, when what computes has failed: from then on every step does.
  std::function<void()> on_device_failure = {};
};

// Thread safety: inbox() is for all threads; the rest is for the thread that made the engine.
class Engine {
 public:
  // `clock` and `metrics` outlive the engine.
  Engine(std::unique_ptr<model::Model> model, const EngineOptions& options, const Clock& clock,
         Metrics& metrics);
  ~Engine();  // as Stop()

  scheduler::Inbox& inbox() { return inbox_; }

  void Start();
  // Takes no more requests, ends those that remain with kShutdown after the step that runs, and
  // joins the thread. Streams are told on the calling thread.
  void Stop();

 private:
  void Run();
  void TakeMail(std::chrono::nanoseconds patience);
  bool Step();  // false when there was nothing to run
  void NoteFailure(const Batch& batch, const absl::Status& status);
  void Publish();
  // When nothing has run for a while: the invariants of scheduler and tree, once after work was
  // done. Aborts on a violation.
  void CheckWhenIdle();

  const Clock& clock_;
  scheduler::Inbox inbox_;
  Telemetry telemetry_;
  const std::function<void()> on_device_failure_;
  bool failed_ = false;  // and it was called
  // In the order of who uses whom: the scheduler's views close before the tree goes.
  std::unique_ptr<model::Model> model_;
  radix::PrefixCache cache_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  StepResult result_;
  bool checked_ = true;  // since the last step
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace banyan::server
