// One thread that sends a workload: starts its conversations when they are due, watches the time,
// asks the server's metrics beside.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "http/client.h"
#include "loadtest/run/run.h"
#include "loadtest/run/session.h"

namespace banyan::loadtest {

class Driver {
 public:
  // All outlive it.
  Driver(const Workload& workload, const RunOptions& options, const std::atomic<bool>& stop,
         const std::function<void(const Progress&)>& progress);

  absl::StatusOr<Result> Run();

 private:
  boost::asio::awaitable<void> Main();
  boost::asio::awaitable<absl::Status> Begin();
  // Conversations as they come, and as places become free.
  boost::asio::awaitable<void> Arrivals();
  boost::asio::awaitable<void> Place(std::int32_t place);
  boost::asio::awaitable<void> RunSession(std::unique_ptr<Session> session, Due due);
  // Looks at `stop`, at the time, and shows what is going on.
  boost::asio::awaitable<void> Watch();
  boost::asio::awaitable<void> SampleMetrics();

  void Spawn(boost::asio::awaitable<void> task);  // the run lasts until it ends
  void Show(Tick now);
  void Interrupt();
  Result Collect();

  const Workload& workload_;
  const RunOptions& options_;
  const std::atomic<bool>& stop_;
  const std::function<void(const Progress&)>& progress_;
  const SteadyClock clock_;
  boost::asio::io_context io_;
  boost::asio::steady_timer over_;   // cancelled when the last task ends
  boost::asio::steady_timer watch_;  // wakes Watch
  boost::asio::steady_timer sample_;
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<http::Client> metrics_client_;
  absl::Status status_;
  std::optional<Target> target_;
  std::optional<RequestFormat> format_;
  std::optional<Recorder> recorder_;
  Waiting waiting_;
  std::optional<Bed> bed_;  // from when the target is known
  std::size_t next_ = 0;    // conversation that a place takes
  std::int64_t tasks_ = 0;
  bool finished_ = false;
  double cpu_before_ = 0;
  std::optional<Result> result_;
};

}  // namespace banyan::loadtest
