// Handlers against a real engine, with a model whose steps can be made to fail or to wait, and
// clients whose reading can be stopped. No sockets: http/ has its own tests.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/value.hpp>

#include "http/server.h"
#include "server/engine.h"
#include "server/service.h"

namespace banyan::server::openai {

// What the test does to the engine's steps.
class Steps {
 public:
  // After so many more every step fails.
  void FailAfter(int steps) { good_ = steps; }
  // So many more steps run; the one after them does not end before Open.
  void CloseAfter(int steps);
  void Open();
  // From now on these bytes are what is sampled, one after the other.
  void Say(std::string bytes);

  // The model's side.
  bool Fails() { return good_.fetch_sub(1) <= 0; }
  void PassGate();
  void Sampled(StepResult& result);
  int begun() const { return begun_; }

 private:
  std::atomic<int> good_ = 1 << 30;
  std::atomic<int> begun_ = 0;
  std::mutex mutex_;
  std::condition_variable opened_;
  int passing_ = 1 << 30;  // steps that need not wait
  std::string said_;
};

// Keeps what it is told to send. A reader that is not reading holds up Events until it reads.
class FakeClient final : public http::Responder {
 public:
  explicit FakeClient(boost::asio::any_io_executor strand);

  boost::asio::awaitable<bool> Send(http::Response response) override;
  boost::asio::awaitable<bool> StartEvents() override;
  boost::asio::awaitable<bool> Events(std::vector<std::string> more) override;
  boost::asio::awaitable<bool> FinishEvents(std::vector<std::string> more) override;
  void OnDisconnect(std::function<void()> gone) override { on_gone_ = std::move(gone); }
  boost::asio::any_io_executor executor() override { return strand_; }

  // On the strand.
  void Leave();
  void Read();

  // The answer's body, parsed.
  boost::json::value Json() const;
  // The events but for "[DONE]", parsed.
  std::vector<boost::json::value> Chunks() const;

  std::optional<http::Response> answer;
  std::vector<std::string> events;
  std::function<void()> on_events;
  bool started = false;
  bool finished = false;
  bool reading = true;

 private:
  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer reads_;
  std::function<void()> on_gone_;
  bool gone_ = false;
};

class EngineTest : public ::testing::Test {
 protected:
  ~EngineTest() override { steps_.Open(); }  // the engine's end waits for its step

  // The engine is there; EngineRuns::kNot leaves it standing, so that requests wait.
  enum class EngineRuns { kYes, kNot };
  // A codec that was put into `model_` before stays.
  void Load(EngineRuns runs, std::size_t max_queue = 4);

  // Begins to answer a request of `path` with that body.
  void Begin(FakeClient& client, const std::string& path, const std::string& body);
  void RunUntil(const std::function<bool()>& done);
  void RunToTheEnd();

  std::unique_ptr<FakeClient> Connect();
  // One request, from beginning to end.
  std::unique_ptr<FakeClient> Post(const std::string& path, const std::string& body);

  double MetricOf(const std::string& name);
  bool MetricsShow(const std::string& line);

  SteadyClock clock_;
  Metrics metrics_{"null"};
  Service service_{"null", clock_, metrics_};
  Steps steps_;
  boost::asio::io_context io_;  // outlives the engine, whose streams post to it
  ServedModel model_;
  std::optional<Engine> engine_;
  int answering_ = 0;
};

std::string Text(const boost::json::value& value);

void ExpectError(const FakeClient& client, int status, const std::string& code);

std::string RetryAfterOf(const FakeClient& client);

}  // namespace banyan::server::openai
