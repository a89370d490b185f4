#include "tests/server/fixture.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/openai/routes.h"

namespace banyan::server::openai {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kLong{60};  // nothing takes as long unless it hangs

// The null model, with the test's hand on its steps.
class FragileModel final : public model::Model {
 public:
  FragileModel(std::unique_ptr<model::Model> inner, Steps& steps)
      : inner_(std::move(inner)), steps_(steps) {}

  const model::Facts& facts() const override { return inner_->facts(); }
  std::int32_t pages() const override { return inner_->pages(); }
  absl::Status Forward(const Batch& batch, StepResult& result) override {
    steps_.PassGate();
    if (steps_.Fails()) return absl::InternalError("the test breaks it here");
    const absl::Status status = inner_->Forward(batch, result);
    if (status.ok()) steps_.Sampled(result);
    return status;
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
  Steps& steps_;
};

}  // namespace

void Steps::CloseAfter(int steps) {
  const std::lock_guard lock(mutex_);
  passing_ = steps;
}

void Steps::Open() {
  {
    const std::lock_guard lock(mutex_);
    passing_ = 1 << 30;
  }
  opened_.notify_all();
}

void Steps::Say(std::string bytes) {
  const std::lock_guard lock(mutex_);
  said_ = std::move(bytes);
}

void Steps::Sampled(StepResult& result) {
  const std::lock_guard lock(mutex_);
  for (SequenceResult& sequence : result.sequences) {
    if (sequence.token < 0 || said_.empty()) continue;
    sequence.token = static_cast<unsigned char>(said_.front());
    said_.erase(0, 1);
  }
}

void Steps::PassGate() {
  ++begun_;
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [this] { return passing_ > 0; });
  --passing_;
}

FakeClient::FakeClient(asio::any_io_executor strand)
    : strand_(std::move(strand)), reads_(strand_, asio::steady_timer::time_point::max()) {}

asio::awaitable<bool> FakeClient::Send(http::Response response) {
  answer = std::move(response);
  co_return !gone_;
}

asio::awaitable<bool> FakeClient::StartEvents() {
  started = true;
  co_return !gone_;
}

asio::awaitable<bool> FakeClient::Events(std::vector<std::string> more) {
  for (std::string& event : more) events.push_back(std::move(event));
  if (on_events) on_events();
  while (!reading) {
    boost::system::error_code error;
    co_await reads_.async_wait(asio::redirect_error(asio::use_awaitable, error));
  }
  co_return !gone_;
}

asio::awaitable<bool> FakeClient::FinishEvents(std::vector<std::string> more) {
  for (std::string& event : more) events.push_back(std::move(event));
  finished = true;
  co_return !gone_;
}

void FakeClient::Leave() {
  gone_ = true;
  if (on_gone_) on_gone_();
}

void FakeClient::Read() {
  reading = true;
  reads_.cancel();
}

boost::json::value FakeClient::Json() const {
  return answer ? boost::json::parse(answer->body) : boost::json::value();
}

std::vector<boost::json::value> FakeClient::Chunks() const {
  std::vector<boost::json::value> chunks;
  for (const std::string& event : events) {
    if (event != "[DONE]") chunks.push_back(boost::json::parse(event));
  }
  return chunks;
}

void EngineTest::Load(EngineRuns runs, std::size_t max_queue) {
  if (model_.codec == nullptr) model_.codec = text::Codec::ForBytes();
  model::Options options;
  options.kv_memory = 1 << 16;  // 8192 tokens
  auto null = model::Model::Null(options, model_.codec->end_tokens().front(),
                                 model_.codec->vocabulary_size());
  ASSERT_TRUE(null.ok()) << null.status();
  auto fragile = std::make_unique<FragileModel>(*std::move(null), steps_);
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

void EngineTest::Begin(FakeClient& client, const std::string& path, const std::string& body) {
  const auto routes = Routes(service_);
  const auto route =
      std::find_if(routes.begin(), routes.end(), [&](const auto& one) { return one.path == path; });
  ASSERT_NE(route, routes.end()) << path;
  auto request = std::make_shared<http::Request>();
  request->path = path;
  request->body = body;
  ++answering_;
  asio::co_spawn(client.executor(), route->handler(*request, client),
                 [this, request](const std::exception_ptr& error) {
                   EXPECT_FALSE(error);
                   --answering_;
                 });
}

void EngineTest::RunUntil(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (!done() && std::chrono::steady_clock::now() < end) {
    io_.run_one_for(std::chrono::milliseconds(20));
    io_.restart();
  }
  ASSERT_TRUE(done());
}

void EngineTest::RunToTheEnd() {
  RunUntil([this] { return answering_ == 0; });
}

std::unique_ptr<FakeClient> EngineTest::Connect() {
  return std::make_unique<FakeClient>(asio::make_strand(io_));
}

std::unique_ptr<FakeClient> EngineTest::Post(const std::string& path, const std::string& body) {
  auto client = Connect();
  Begin(*client, path, body);
  RunToTheEnd();
  return client;
}

double EngineTest::MetricOf(const std::string& name) {
  const std::string text = metrics_.Text();
  return std::stod(text.substr(text.find(absl::StrCat("\n", name, " ")) + name.size() + 2));
}

bool EngineTest::MetricsShow(const std::string& line) {
  return metrics_.Text().find(line) != std::string::npos;
}

std::string Text(const boost::json::value& value) { return std::string(value.as_string()); }

void ExpectError(const FakeClient& client, int status, const std::string& code) {
  ASSERT_TRUE(client.answer.has_value());
  EXPECT_FALSE(client.started) << "refused before the first byte of a stream";
  EXPECT_EQ(client.answer->status, status);
  EXPECT_EQ(Text(client.Json().at("error").at("code")), code);
}

std::string RetryAfterOf(const FakeClient& client) {
  for (const auto& [name, value] : client.answer->headers) {
    if (name == "Retry-After") return value;
  }
  return "";
}

}  // namespace banyan::server::openai
