// The chat handler against a real engine with a model whose steps can be made to fail, and a client
// whose reading can be stopped. No sockets: http/ has its own tests.
#include "server/openai/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/engine.h"
#include "server/openai/routes.h"
#include "server/service.h"

namespace banyan::server::openai {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kLong{60};  // nothing takes as long unless it hangs

// The null model, until its steps are told to fail.
class FragileModel final : public model::Model {
 public:
  FragileModel(std::unique_ptr<model::Model> inner, std::atomic<int>& good_steps)
      : inner_(std::move(inner)), good_steps_(good_steps) {}

  const model::Facts& facts() const override { return inner_->facts(); }
  std::int32_t pages() const override { return inner_->pages(); }
  absl::Status Forward(const Batch& batch, StepResult& result) override {
    if (good_steps_.fetch_sub(1) <= 0) return absl::InternalError("the test breaks it here");
    return inner_->Forward(batch, result);
  }
  std::size_t page_bytes() const override { return inner_->page_bytes(); }
  void ReadPage(PageId page, std::span<std::byte> bytes) const override {
    inner_->ReadPage(page, bytes);
  }
  void WritePage(PageId page, std::span<const std::byte> bytes) override {
    inner_->WritePage(page, bytes);
  }

 private:
  std::unique_ptr<model::Model> inner_;
  std::atomic<int>& good_steps_;
};

// Keeps what it is told to send. A reader that is not reading holds up Events until it reads.
class FakeClient final : public http::Responder {
 public:
  explicit FakeClient(asio::any_io_executor strand)
      : strand_(std::move(strand)), reads_(strand_, asio::steady_timer::time_point::max()) {}

  asio::awaitable<bool> Send(http::Response response) override {
    answer = std::move(response);
    co_return !gone_;
  }
  asio::awaitable<bool> StartEvents() override {
    started = true;
    co_return !gone_;
  }
  asio::awaitable<bool> Events(std::vector<std::string> more) override {
    for (std::string& event : more) events.push_back(std::move(event));
    if (on_events) on_events();
    while (!reading) {
      boost::system::error_code error;
      co_await reads_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
    co_return !gone_;
  }
  asio::awaitable<bool> FinishEvents(std::vector<std::string> more) override {
    for (std::string& event : more) events.push_back(std::move(event));
    finished = true;
    co_return !gone_;
  }
  void OnDisconnect(std::function<void()> gone) override { on_gone_ = std::move(gone); }
  asio::any_io_executor executor() override { return strand_; }

  // On the strand.
  void Leave() {
    gone_ = true;
    if (on_gone_) on_gone_();
  }
  void Read() {
    reading = true;
    reads_.cancel();
  }

  std::optional<http::Response> answer;
  std::vector<std::string> events;
  std::function<void()> on_events;
  bool started = false;
  bool finished = false;
  bool reading = true;

 private:
  asio::any_io_executor strand_;
  asio::steady_timer reads_;
  std::function<void()> on_gone_;
  bool gone_ = false;
};

class ChatTest : public ::testing::Test {
 protected:
  // The engine is there; EngineRuns::kNot leaves it standing, so that requests wait.
  enum class EngineRuns { kYes, kNot };
  void Load(EngineRuns runs, std::size_t max_queue = 4) {
    model_.codec = text::Codec::ForBytes();
    model::Options options;
    options.kv_memory = 1 << 16;  // 8192 tokens
    auto null = model::Model::Null(options, model_.codec->end_tokens().front(),
                                   model_.codec->vocabulary_size());
    ASSERT_TRUE(null.ok()) << null.status();
    auto fragile = std::make_unique<FragileModel>(*std::move(null), good_steps_);
    EngineOptions engine;
    engine.cache.page_size = options.page_size;
    engine.cache.pages = fragile->pages();
    engine.scheduling.max_running = 4;
    engine.scheduling.context_length = fragile->facts().context_length;
    engine.max_queue = max_queue;
    model_.facts = fragile->facts();
    model_.cache = engine.cache;
    model_.scheduling = engine.scheduling;
    engine_.emplace(std::move(fragile), engine, clock_, metrics_);
    model_.inbox = &engine_->inbox();
    if (runs == EngineRuns::kYes) engine_->Start();
    service_.Publish(model_);
  }

  // Begins to answer; `body` gets messages.
  void Begin(FakeClient& client, const std::string& members) {
    auto request = std::make_shared<http::Request>();
    request->body = absl::StrCat(R"({"messages":[{"role":"user","content":"Hello"}])",
                                 members.empty() ? "" : ",", members, "}");
    ++answering_;
    asio::co_spawn(client.executor(), Answer(request, client),
                   [this](const std::exception_ptr& error) {
                     EXPECT_FALSE(error);
                     --answering_;
                   });
  }
  asio::awaitable<void> Answer(std::shared_ptr<http::Request> request, FakeClient& client) {
    co_await Chat(service_, *request, client);
  }

  void RunUntil(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!done() && std::chrono::steady_clock::now() < end) {
      io_.run_one_for(std::chrono::milliseconds(20));
      io_.restart();
    }
    ASSERT_TRUE(done());
  }
  void RunToTheEnd() {
    RunUntil([this] { return answering_ == 0; });
  }

  std::unique_ptr<FakeClient> Connect() {
    return std::make_unique<FakeClient>(asio::make_strand(io_));
  }

  // One request, from beginning to end.
  std::unique_ptr<FakeClient> Ask(const std::string& members) {
    auto client = Connect();
    Begin(*client, members);
    RunToTheEnd();
    return client;
  }

  double MetricOf(const std::string& name) {
    const std::string text = metrics_.Text();
    return std::stod(text.substr(text.find(absl::StrCat("\n", name, " ")) + name.size() + 2));
  }

  bool MetricsShow(const std::string& line) {
    return metrics_.Text().find(line) != std::string::npos;
  }

  SteadyClock clock_;
  Metrics metrics_{"null"};
  Service service_{"null", clock_, metrics_};
  std::atomic<int> good_steps_ = 1 << 30;
  asio::io_context io_;  // outlives the engine, whose streams post to it
  ServedModel model_;
  std::optional<Engine> engine_;
  int answering_ = 0;
};

std::string Text(const json::value& value) { return std::string(value.as_string()); }

void ExpectError(const FakeClient& client, int status, const std::string& code) {
  ASSERT_TRUE(client.answer.has_value());
  EXPECT_FALSE(client.started) << "refused before the first byte of a stream";
  EXPECT_EQ(client.answer->status, status);
  EXPECT_EQ(Text(json::parse(client.answer->body).at("error").at("code")), code);
}

std::string RetryAfterOf(const FakeClient& client) {
  for (const auto& [name, value] : client.answer->headers) {
    if (name == "Retry-After") return value;
  }
  return "";
}

// What is refused is refused in the same way whether or not a stream was asked for.
class ChatRefusalTest : public ChatTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ChatRefusalTest, WhileLoadingNothingIsTaken) {
  const auto client = Ask(GetParam());
  ExpectError(*client, 503, "not_ready");
  EXPECT_NE(RetryAfterOf(*client), "");
}

TEST_P(ChatRefusalTest, WhileDrainingNothingIsTaken) {
  Load(EngineRuns::kYes);
  service_.Drain();
  ExpectError(*Ask(GetParam()), 503, "not_ready");
}

TEST_P(ChatRefusalTest, AnInboxThatHasClosedSinceIsNotReady) {
  Load(EngineRuns::kYes);
  engine_->inbox().Close();
  ExpectError(*Ask(GetParam()), 503, "not_ready");
}

TEST_P(ChatRefusalTest, AFullQueueSaysWhenToComeBack) {
  Load(EngineRuns::kNot, /*max_queue=*/2);
  auto first = Connect();
  auto second = Connect();
  Begin(*first, "\"max_tokens\":1");
  Begin(*second, "\"max_tokens\":1");
  RunUntil([this] { return engine_->inbox().waiting() == 2; });

  auto third = Connect();
  Begin(*third, GetParam());
  RunUntil([&] { return third->answer.has_value(); });
  ExpectError(*third, 429, "queue_full");
  EXPECT_EQ(RetryAfterOf(*third), "1");

  engine_->Start();
  RunToTheEnd();
  EXPECT_EQ(first->answer->status, 200);
  EXPECT_EQ(second->answer->status, 200);
  EXPECT_TRUE(MetricsShow("banyan_http_errors_total{code=\"queue_full\"} 1\n"));
}

TEST_P(ChatRefusalTest, AStepThatFailsBeforeTheFirstTokenIsAnEngineError) {
  Load(EngineRuns::kYes);
  good_steps_ = 0;
  ExpectError(*Ask(GetParam()), 500, "engine_error");
  good_steps_ = 1 << 30;
  EXPECT_EQ(Ask("\"max_tokens\":1")->answer->status, 200) << "the next one is served";
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"failed\"} 1\n"));
}

TEST_P(ChatRefusalTest, AServerThatStopsBeforeTheFirstTokenIsNotReady) {
  Load(EngineRuns::kNot);
  auto client = Connect();
  Begin(*client, GetParam());
  RunUntil([this] { return engine_->inbox().waiting() == 1; });
  engine_->Stop();
  RunToTheEnd();
  ExpectError(*client, 503, "not_ready");
}

TEST_P(ChatRefusalTest, APromptThatCannotFitIsRefusedAndTheNextIsServed) {
  Load(EngineRuns::kYes);
  const std::string over = absl::StrCat(GetParam(), ",\"max_tokens\":1048576");
  ExpectError(*Ask(over), 400, "context_length_exceeded");
  EXPECT_EQ(Ask("\"max_tokens\":1")->answer->status, 200);
}

INSTANTIATE_TEST_SUITE_P(WholeAndStreamed, ChatRefusalTest,
                         ::testing::Values("\"stream\":false", "\"stream\":true"),
                         [](const auto& tested) {
                           return tested.index == 0 ? "Whole" : "Streamed";
                         });

TEST_F(ChatTest, ProbesFollowThePhaseAndTheModelsRoutesWaitForIt) {
  const auto ask = [this](const std::string& path) {
    const auto routes = Routes(service_);
    const auto route = std::find_if(routes.begin(), routes.end(),
                                    [&](const auto& one) { return one.path == path; });
    auto client = Connect();
    auto request = std::make_shared<http::Request>();
    request->path = path;
    request->body = R"({"content":"abc"})";
    ++answering_;
    asio::co_spawn(client->executor(), route->handler(*request, *client),
                   [this, request](const std::exception_ptr&) { --answering_; });
    RunToTheEnd();
    return client;
  };
  for (const char* path : {"/ready", "/v1/models", "/tokenize"}) {
    ExpectError(*ask(path), 503, "not_ready");
  }
  EXPECT_EQ(ask("/health")->answer->status, 200) << "alive while it loads";
  EXPECT_EQ(ask("/metrics")->answer->status, 200);
  Load(EngineRuns::kYes);
  for (const char* path : {"/ready", "/v1/models", "/tokenize", "/health", "/metrics"}) {
    EXPECT_EQ(ask(path)->answer->status, 200) << path;
  }
  service_.Drain();
  ExpectError(*ask("/ready"), 503, "not_ready");
  EXPECT_NE(RetryAfterOf(*ask("/ready")), "");
  EXPECT_EQ(ask("/health")->answer->status, 200) << "alive while it drains";
}

TEST_F(ChatTest, AStreamIsTheWholeAnswerInPieces) {
  Load(EngineRuns::kYes);
  const auto whole = Ask("\"max_tokens\":40,\"ignore_eos\":true");
  const json::value answer = json::parse(whole->answer->body);
  const auto streamed =
      Ask("\"max_tokens\":40,\"ignore_eos\":true,\"stream\":true,"
          "\"stream_options\":{\"include_usage\":true}");
  ASSERT_TRUE(streamed->started && streamed->finished);
  ASSERT_GE(streamed->events.size(), 4U);
  EXPECT_EQ(streamed->events.back(), "[DONE]");

  std::string text;
  const json::value first = json::parse(streamed->events.front());
  EXPECT_EQ(first.at("choices").at(0).at("delta").at("role"), "assistant");
  for (std::size_t i = 0; i + 3 < streamed->events.size(); ++i) {
    const json::value chunk = json::parse(streamed->events[i]);
    EXPECT_EQ(chunk.at("id"), first.at("id"));
    EXPECT_TRUE(chunk.at("choices").at(0).at("finish_reason").is_null());
    text += Text(chunk.at("choices").at(0).at("delta").at("content"));
  }
  const json::value last = json::parse(streamed->events[streamed->events.size() - 3]);
  EXPECT_EQ(last.at("choices").at(0).at("finish_reason"), "length");
  const json::value usage = json::parse(streamed->events[streamed->events.size() - 2]);
  EXPECT_TRUE(usage.at("choices").as_array().empty());
  EXPECT_EQ(usage.at("usage").at("completion_tokens"), 40);

  EXPECT_EQ(text, Text(answer.at("choices").at(0).at("message").at("content")));
  EXPECT_EQ(usage.at("usage").at("prompt_tokens_details").at("cached_tokens").as_int64(),
            answer.at("usage").at("prompt_tokens").as_int64() - 1);
}

TEST_F(ChatTest, AStopStringCountsTheTokensUpToItHoweverFarTheEngineRan) {
  Load(EngineRuns::kYes);
  const auto whole = Ask("\"max_tokens\":30");
  const std::string text(
      json::parse(whole->answer->body).at("choices").at(0).at("message").at("content").as_string());
  ASSERT_EQ(text.size(), 30U);
  json::object stop;
  stop["stop"] = text.substr(20, 5);
  std::string members = json::serialize(stop);
  members = members.substr(1, members.size() - 2);
  const auto stopped = Ask(absl::StrCat("\"max_tokens\":200,\"ignore_eos\":true,", members));
  const json::value answer = json::parse(stopped->answer->body);
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(Text(answer.at("choices").at(0).at("message").at("content")), text.substr(0, 20));
  EXPECT_EQ(answer.at("usage").at("completion_tokens"), 25);
  EXPECT_TRUE(MetricsShow("\nbanyan_generated_tokens_total 55\n"));
}

TEST_F(ChatTest, AnErrorAfterTheFirstTokenIsOneErrorEventAndTheEnd) {
  Load(EngineRuns::kYes);
  good_steps_ = 5;
  const auto client = Ask("\"stream\":true,\"ignore_eos\":true");
  EXPECT_TRUE(client->started && client->finished);
  EXPECT_FALSE(client->answer.has_value());
  EXPECT_EQ(json::parse(client->events.back()).at("error").at("code"), "engine_error");
  EXPECT_THAT(client->events.front(), HasSubstr("\"role\":\"assistant\""));
}

TEST_F(ChatTest, AReaderThatDoesNotReadLosesItsStreamAndHoldsUpNobody) {
  model_.unread_tokens = 100;
  Load(EngineRuns::kYes);
  auto slow = Connect();
  slow->reading = false;
  Begin(*slow, "\"stream\":true,\"ignore_eos\":true,\"max_tokens\":8000");
  RunUntil([&] { return !slow->events.empty(); });
  auto other = Connect();
  Begin(*other, "\"max_tokens\":10");
  RunUntil([&] { return other->answer.has_value(); });
  EXPECT_EQ(other->answer->status, 200);

  RunUntil([this] {
    return MetricOf("banyan_sampled_tokens_total") > 100 &&
           MetricOf("banyan_running_requests") == 0;
  });
  slow->Read();
  RunToTheEnd();
  EXPECT_EQ(json::parse(slow->events.back()).at("error").at("code"), "slow_reader");
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"slow_reader\"} 1\n"));
}

TEST_F(ChatTest, AClientThatLeavesInTheMiddleOfItsStreamFreesItsPages) {
  Load(EngineRuns::kYes);
  auto client = Connect();
  client->on_events = [&] { client->Leave(); };
  Begin(*client, "\"stream\":true,\"ignore_eos\":true");
  RunToTheEnd();
  EXPECT_FALSE(client->finished);
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"cancelled\"} 1\n"));
  RunUntil([this] {
    return MetricsShow("\nbanyan_running_requests 0\n") &&
           MetricsShow("banyan_kv_pages{state=\"open\"} 0\n");
  });
}

TEST_F(ChatTest, AClientThatLeavesTheQueueIsNeverRun) {
  Load(EngineRuns::kNot);
  auto client = Connect();
  Begin(*client, "");
  RunUntil([this] { return engine_->inbox().waiting() == 1; });
  client->Leave();
  engine_->Start();
  RunToTheEnd();
  EXPECT_FALSE(client->answer.has_value());
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"cancelled\"} 1\n"));
  EXPECT_TRUE(MetricsShow("\nbanyan_prompt_tokens_total 0\n"));
}

TEST_F(ChatTest, ACoroutineThatIsDestroyedCancelsItsRequest) {
  Load(EngineRuns::kNot);
  {
    asio::io_context doomed;
    FakeClient client{asio::make_strand(doomed)};
    auto request = std::make_shared<http::Request>();
    request->body = R"({"messages":[{"role":"user","content":"Hello"}]})";
    asio::co_spawn(client.executor(), Answer(request, client), asio::detached);
    while (engine_->inbox().waiting() == 0) doomed.run_one();
    const scheduler::Inbox::Mail before = engine_->inbox().Drain(std::chrono::nanoseconds(0));
    EXPECT_EQ(before.requests.size(), 1U);
    EXPECT_TRUE(before.cancellations.empty());
  }
  EXPECT_EQ(engine_->inbox().Drain(std::chrono::nanoseconds(0)).cancellations.size(), 1U);
}

}  // namespace
}  // namespace banyan::server::openai
