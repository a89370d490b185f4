#include "tests/http/fixture.h"

#include <stdexcept>
#include <thread>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace banyan::http {
namespace asio = boost::asio;
namespace {

Response Json(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

std::vector<std::string> Batch(std::string first, std::string second = "") {
  std::vector<std::string> events;
  events.push_back(std::move(first));
  if (!second.empty()) events.push_back(std::move(second));
  return events;
}

// The first event of a stream that is about to fail.
asio::awaitable<void> Begin(Responder& responder) {
  co_await responder.StartEvents();
  co_await responder.Events(Batch("one"));
}

}  // namespace

void Ledger::Count(const std::string& name) {
  const std::lock_guard lock(mutex_);
  ++counts_[name];
  changed_.notify_all();
}

int Ledger::Of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second;
}

bool Ledger::WaitFor(const std::string& name, int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return counts_[name] >= count; });
}

Options ServerTest::DefaultOptions() {
  Options options;
  options.port = 0;
  options.io_threads = 2;
  return options;
}

void ServerTest::Start(Options options) {
  options.on_error = [this](const std::string& what) { ledger_.Count(what); };
  auto server = Server::Listen(options, Routes());
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  server_->Start();
}

void ServerTest::TearDown() { server_.reset(); }

Reply ServerTest::Ask(const std::string& request) const {
  RawClient client(port());
  client.Send(request);
  return client.Read();
}

bool ServerTest::WaitForConnections(std::size_t count) const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (server_->connections() != count) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

asio::awaitable<void> ServerTest::Wait(Responder& responder) {
  const auto timer = std::make_shared<asio::steady_timer>(responder.executor());
  responder.OnDisconnect([this, timer] {
    ledger_.Count("gone");
    timer->cancel();
  });
  ledger_.Count("waiting");
  co_await gate_.Pass(timer);
  const bool sent = co_await responder.Send(Json("\"waited\""));
  ledger_.Count(sent ? "answered" : "unanswered");
}

asio::awaitable<void> ServerTest::Stream(Responder& responder) {
  const auto timer = std::make_shared<asio::steady_timer>(responder.executor());
  responder.OnDisconnect([timer] { timer->cancel(); });
  co_await responder.StartEvents();
  ledger_.Count("started");
  co_await gate_.Pass(timer);
  co_await responder.Events({});
  co_await responder.Events(Batch("one", "two"));
  co_await gate_.Pass(timer);
  const bool sent = co_await responder.FinishEvents(Batch("three", "[DONE]"));
  ledger_.Count(sent ? "finished" : "unfinished");
}

asio::awaitable<void> ServerTest::Flood(Responder& responder) {
  responder.OnDisconnect([this] { ledger_.Count("gone"); });
  co_await responder.StartEvents();
  bool more = true;
  while (more) more = co_await responder.Events(Batch(std::string(64 << 10, 'x')));
  const bool late = co_await responder.FinishEvents(Batch("too late"));
  ledger_.Count(late ? "sent to nobody" : "flood over");
}

std::vector<Server::Route> ServerTest::Routes() {
  std::vector<Server::Route> routes;
  const auto add = [&](std::string method, std::string path, Handler handler) {
    routes.push_back({std::move(method), std::move(path), std::move(handler)});
  };
  add("GET", "/hello", [](const Request&, Responder& responder) -> asio::awaitable<void> {
    co_await responder.Send(Json(R"({"hello":"world"})"));
  });
  add("GET", "/empty", [](const Request&, Responder& responder) -> asio::awaitable<void> {
    Response response;
    response.status = 204;
    co_await responder.Send(std::move(response));
  });
  add("GET", "/injection", [](const Request&, Responder& responder) -> asio::awaitable<void> {
    Response response;
    response.headers.emplace_back("X-Request-Id", "a\r\nX-Evil: yes");
    co_await responder.Send(std::move(response));
  });
  add("GET", "/large", [](const Request&, Responder& responder) -> asio::awaitable<void> {
    co_await responder.Send(Json(std::string(16 << 20, 'x')));
  });
  add("GET", "/request/*",
      [](const Request& request, Responder& responder) -> asio::awaitable<void> {
        co_await responder.Send(Json(request.method + " " + request.path + " ? " + request.query));
      });
  add("POST", "/echo", [](const Request& request, Responder& responder) -> asio::awaitable<void> {
    co_await responder.Send(Json(request.body));
  });
  add("POST", "/wait", [this](const Request&, Responder& r) { return Wait(r); });
  add("GET", "/stream", [this](const Request&, Responder& r) { return Stream(r); });
  add("GET", "/flood", [this](const Request&, Responder& r) { return Flood(r); });
  AddFaultyRoutes(&routes);
  return routes;
}

void ServerTest::AddFaultyRoutes(std::vector<Server::Route>* routes) {
  const auto add = [&](std::string path, Handler handler) {
    routes->push_back({"GET", std::move(path), std::move(handler)});
  };
  add("/stuck", [this](const Request&, Responder& responder) -> asio::awaitable<void> {
    asio::steady_timer never(responder.executor(), asio::steady_timer::time_point::max());
    ledger_.Count("stuck");
    co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
  });
  add("/throw", [](const Request&, Responder&) -> asio::awaitable<void> {
    throw std::runtime_error("a secret");
    co_return;
  });
  add("/throw-number", [](const Request&, Responder&) -> asio::awaitable<void> {
    throw 7;
    co_return;
  });
  add("/nothing", [](const Request&, Responder&) -> asio::awaitable<void> { co_return; });
  add("/throw-started", [](const Request&, Responder& responder) -> asio::awaitable<void> {
    co_await responder.StartEvents();
    throw std::runtime_error("a secret");
  });
  add("/throw-streaming", [](const Request&, Responder& responder) -> asio::awaitable<void> {
    co_await Begin(responder);
    throw std::runtime_error("a secret");
  });
  add("/unfinished", [](const Request&, Responder& responder) { return Begin(responder); });
  add("/throw-after", [](const Request&, Responder& responder) -> asio::awaitable<void> {
    co_await responder.Send(Json("\"done\""));
    throw std::runtime_error("a secret");
  });
}

}  // namespace banyan::http
