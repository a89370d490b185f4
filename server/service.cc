#include "server/service.h"

#include <chrono>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/check.h"

namespace banyan::server {
namespace {

std::uint64_t Random64() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::int64_t WallClockSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Service::Service(std::string model_name, const Clock& clock, Metrics& metrics)
    : model_name_(std::move(model_name)),
      clock_(clock),
      metrics_(metrics),
      started_unix_(WallClockSeconds()),
      started_(clock.Now()),
      process_tag_(Random64()) {
  metrics_.Set(Gauge::kReady, 0);
}

void Service::Publish(const ServedModel& model) {
  CHECK(phase() == Phase::kLoading && model.inbox != nullptr);
  model_.store(&model);
  phase_.store(Phase::kReady);
  metrics_.Set(Gauge::kReady, 1);
}

void Service::Drain() {
  phase_.store(Phase::kDraining);
  metrics_.Set(Gauge::kReady, 0);
}

void Service::Fail() {
  Phase ready = Phase::kReady;  // a server that ends goes on to do so
  if (phase_.compare_exchange_strong(ready, Phase::kFailed)) metrics_.Set(Gauge::kReady, 0);
}

const ServedModel* Service::model() const {
  return phase() == Phase::kReady ? model_.load() : nullptr;
}

std::int64_t Service::NowUnix() const {
  return started_unix_ + static_cast<std::int64_t>(Seconds(clock_.Now() - started_));
}

std::string Service::WireId(std::string_view kind, RequestId id) const {
  return absl::StrFormat("%s-%016x%08x", kind, process_tag_, static_cast<std::uint64_t>(id));
}

std::uint64_t Service::RandomSeed() { return Random64(); }

}  // namespace banyan::server
