#include "loadtest/run/driver.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "loadtest/run/await.h"
#include "loadtest/run/facts.h"

namespace banyan::loadtest {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

constexpr Tick kWatchEvery = std::chrono::milliseconds(50);
constexpr Tick kShowEvery = std::chrono::seconds(1);

// Seconds of processor time that this process has used.
double CpuSeconds() {
  rusage usage{};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Nothing here throws but for want of memory.
void EndsWell(const std::exception_ptr& exception) { CHECK(exception == nullptr); }

}  // namespace

Driver::Driver(const Workload& workload, const RunOptions& options, const std::atomic<bool>& stop,
               const std::function<void(const Progress&)>& progress)
    : workload_(workload),
      options_(options),
      stop_(stop),
      progress_(progress),
      io_(1),
      over_(io_, asio::steady_timer::time_point::max()),
      watch_(io_),
      sample_(io_),
      waiting_(io_.get_executor(), std::max(options.max_in_flight, options.concurrency)) {}

absl::StatusOr<Result> Driver::Run() {
  auto client = http::Client::Create(io_.get_executor(), options_.target.http, clock_);
  if (!client.ok()) return client.status();
  auto metrics_client = http::Client::Create(io_.get_executor(), options_.target.http, clock_);
  if (!metrics_client.ok()) return metrics_client.status();
  client_ = *std::move(client);
  metrics_client_ = *std::move(metrics_client);
  asio::co_spawn(io_, Main(), EndsWell);
  asio::co_spawn(io_, Watch(), EndsWell);
  io_.run();
  if (!status_.ok()) return status_;
  return *std::move(result_);
}

awaitable<void> Driver::Main() {
  status_ = co_await Begin();
  if (status_.ok()) {
    if (options_.metrics_every > Tick(0)) asio::co_spawn(io_, SampleMetrics(), EndsWell);
    if (LoopOf(options_) == Loop::kOpen) {
      Spawn(Arrivals());
    } else {
      const auto places = static_cast<std::int32_t>(std::min<std::int64_t>(
          options_.concurrency, static_cast<std::int64_t>(workload_.conversations.size())));
      for (std::int32_t place = 0; place < places; ++place) Spawn(Place(place));
    }
    while (tasks_ > 0) co_await over_.async_wait(kAwait);
    result_ = Collect();
  }
  finished_ = true;
  watch_.cancel();
  sample_.cancel();
  client_->Stop();
  metrics_client_->Stop();
}

awaitable<absl::Status> Driver::Begin() {
  absl::StatusOr<Target> target = co_await Target::Find(*client_, options_.target);
  if (stop_) co_return absl::CancelledError("interrupted before anything was sent");
  if (!target.ok()) co_return target.status();
  target_ = *std::move(target);
  RequestOptions request;
  request.api = options_.target.api;
  request.model = target_->model();
  request.temperature = options_.temperature;
  request.ignore_eos = options_.ignore_eos;
  request.extra_body = options_.extra_body;
  absl::StatusOr<RequestFormat> format = RequestFormat::Create(request);
  if (!format.ok()) co_return format.status();
  format_ = *std::move(format);

  const std::int64_t planned = Planned(workload_, options_);
  recorder_.emplace(options_.warm_up, planned);
  cpu_before_ = CpuSeconds();
  bed_.emplace(Bed{options_, *format_, target_->vocabulary(), clock_, *client_, waiting_,
                   *recorder_, clock_.Now(), planned});
  co_return absl::OkStatus();
}

void Driver::Spawn(awaitable<void> task) {
  ++tasks_;
  asio::co_spawn(io_, std::move(task), [this](const std::exception_ptr& exception) {
    EndsWell(exception);
    if (--tasks_ == 0) over_.cancel();
  });
}

awaitable<void> Driver::Arrivals() {
  for (std::size_t i = 0; i < workload_.conversations.size(); ++i) {
    const Conversation& conversation = workload_.conversations[i];
    const Due due = FirstDue(conversation.turns.front(), Loop::kOpen, Tick(0));
    if (!bed_->Open(due.ready)) co_return;
    auto session = std::make_unique<Session>(*bed_, conversation, static_cast<std::int64_t>(i));
    const bool came = co_await waiting_.Until(bed_->start + due.ready);
    if (!came) co_return;
    const bool entered = co_await waiting_.Enter();
    if (!entered) co_return;
    Spawn(RunSession(std::move(session), due));
  }
}

awaitable<void> Driver::Place(std::int32_t place) {
  const Tick join = JoinOf(place, options_);
  const bool came = co_await waiting_.Until(bed_->start + join);
  if (!came) co_return;
  Tick free = join;
  while (next_ < workload_.conversations.size() && bed_->Open(bed_->Now())) {
    const std::size_t index = next_++;
    const Conversation& conversation = workload_.conversations[index];
    const Due due = FirstDue(conversation.turns.front(), Loop::kClosed, free);
    auto session = std::make_unique<Session>(*bed_, conversation, static_cast<std::int64_t>(index));
    const bool entered = co_await waiting_.Enter();
    if (!entered) co_return;
    co_await RunSession(std::move(session), due);
    free = bed_->Now();
  }
}

awaitable<void> Driver::RunSession(std::unique_ptr<Session> session, Due due) {
  co_await session->Run(due);
}

awaitable<void> Driver::Watch() {
  Tick shown(0);
  while (!finished_) {
    watch_.expires_after(kWatchEvery);
    co_await watch_.async_wait(kAwait);
    if (finished_) break;
    if (stop_) Interrupt();
    if (!bed_) continue;
    const Tick now = bed_->Now();
    if (options_.max_time > Tick(0) && now >= options_.max_time + options_.grace) Interrupt();
    if (now >= shown + kShowEvery) {
      shown = now - now % kShowEvery;
      Show(now);
    }
  }
}

void Driver::Show(Tick now) {
  Progress progress = recorder_->Report(now);
  progress.time_left =
      TimeLeft(options_, now, progress.finished + progress.failed, progress.planned);
  if (progress_) progress_(progress);
}

void Driver::Interrupt() {
  waiting_.Stop();
  client_->Stop();
}

awaitable<void> Driver::SampleMetrics() {
  Tick next(0);
  while (!finished_) {
    std::optional<ServerSample> sample = co_await Target::Sample(*metrics_client_);
    if (finished_) co_return;
    const Tick now = bed_->Now();
    // A server without the page is asked once; one that was busy is asked again.
    if (!sample && now < options_.metrics_every) co_return;
    if (sample) {
      sample->at = now;
      recorder_->Sampled(*sample);
    }
    next = std::max(next + options_.metrics_every, now);
    sample_.expires_at(asio::steady_timer::time_point(bed_->start + next));
    co_await sample_.async_wait(kAwait);
  }
}

Result Driver::Collect() {
  const Tick now = bed_->Now();
  Result result = recorder_->Finish(now);
  result.interrupted = stop_;
  result.facts = Facts(workload_, options_, *target_);
  const double seconds = Seconds(now);
  if (seconds > 0) result.client.cpu_share = (CpuSeconds() - cpu_before_) / seconds;
  return result;
}

absl::StatusOr<Result> Run(const Workload& workload, const RunOptions& options,
                           const std::atomic<bool>& stop,
                           const std::function<void(const Progress&)>& progress) {
  const absl::Status status = Check(workload, options);
  if (!status.ok()) return status;
  Driver driver(workload, options, stop, progress);
  return driver.Run();
}

}  // namespace banyan::loadtest
