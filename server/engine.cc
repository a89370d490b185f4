#include "server/engine.h"

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "server/logging.h"

namespace banyan::server {
namespace {

// How long the idle engine sleeps at most; the inbox wakes it for anything that comes.
constexpr std::chrono::seconds kIdlePatience{1};

}  // namespace

Engine::Engine(std::unique_ptr<model::Model> model, const EngineOptions& options,
               const Clock& clock, Metrics& metrics)
    : clock_(clock),
      inbox_(options.max_queue),
      telemetry_(metrics),
      on_device_failure_(options.on_device_failure),
      model_(std::move(model)),
      cache_(options.cache, &telemetry_),
      scheduler_(std::make_unique<scheduler::Scheduler>(options.scheduling, cache_, &telemetry_)) {
  metrics.Set(Gauge::kPageBytes, static_cast<double>(model_->page_bytes()));
  metrics.SetCacheShape(options.cache.page_size, options.cache.pages, model_->facts().kv_dtype);
  Publish();
}

Engine::~Engine() { Stop(); }

void Engine::Start() {
  CHECK(!thread_.joinable());
  thread_ = std::thread([this] { Run(); });
}

void Engine::Stop() {
  stopping_ = true;
  inbox_.Close();
  if (thread_.joinable()) thread_.join();
  if (scheduler_ == nullptr) return;
  TakeMail(std::chrono::nanoseconds(0));  // what came after the last step is ended as well
  scheduler_.reset();
}

void Engine::Run() {
  bool worked = true;
  while (!stopping_) {
    const bool rested = !worked;
    TakeMail(rested ? kIdlePatience : std::chrono::nanoseconds(0));
    if (stopping_) break;
    worked = Step();
    Publish();
    if (rested && !worked) CheckWhenIdle();
  }
}

void Engine::TakeMail(std::chrono::nanoseconds patience) {
  scheduler::Inbox::Mail mail = inbox_.Drain(patience);
  const Tick now = clock_.Now();
  for (scheduler::Request& request : mail.requests) scheduler_->Submit(std::move(request), now);
  for (const scheduler::Cancellation& one : mail.cancellations) scheduler_->Cancel(one, now);
}

bool Engine::Step() {
  const Batch& batch = scheduler_->Next(clock_.Now());
  // Before the step and its answers: whoever has an answer finds the places in the queue free.
  inbox_.Left(scheduler_->TakeLeft());
  if (batch.empty()) return false;
  result_.step = batch.step;
  result_.failed = false;
  result_.sequences.clear();
  const Tick start = clock_.Now();
  const absl::Status status = model_->Forward(batch, result_);
  const Tick end = clock_.Now();
  if (!status.ok()) {
    result_.failed = true;
    NoteFailure(batch, status);
  }
  scheduler_->Complete(result_, end);
  telemetry_.OnStep(end - start);
  checked_ = false;
  return true;
}

void Engine::NoteFailure(const Batch& batch, const absl::Status& status) {
  Log(Severity::kError, "step failed",
      {{"step", batch.step},
       {"requests", batch.sequences.size()},
       {"reason", std::string(status.message())}});
  if (!absl::IsUnavailable(status) || failed_) return;
  failed_ = true;
  telemetry_.OnDeviceFailure();
  if (on_device_failure_) on_device_failure_();
}

void Engine::Publish() { telemetry_.Publish(scheduler_->stats(), cache_.stats(), clock_.Now()); }

void Engine::CheckWhenIdle() {
  if (checked_ || !scheduler_->idle()) return;
  checked_ = true;
  absl::Status status = scheduler_->CheckInvariants();
  if (status.ok()) status = cache_.CheckInvariants();
  if (status.ok()) return;
  // A tree that contradicts itself could answer one prompt with another's pages.
  CheckFailed(__FILE__, __LINE__, std::string(status.message()).c_str());
}

}  // namespace banyan::server
