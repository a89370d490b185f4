#include "server/openai/routes.h"

#include <utility>

#include "server/openai/chat.h"
#include "server/openai/completions.h"
#include "server/openai/models.h"
#include "server/openai/reply.h"
#include "server/openai/tokenize.h"

namespace banyan::server::openai {
namespace {

using boost::asio::awaitable;

// Alive is what need not be started again.
awaitable<void> Health(Service& service, const http::Request&, http::Responder& responder) {
  if (service.phase() == Phase::kFailed) {
    co_await responder.SendError(NotReady(Phase::kFailed));
    co_return;
  }
  co_await Reply(responder, R"({"status":"ok"})");
}

awaitable<void> Ready(Service& service, const http::Request&, http::Responder& responder) {
  if (service.phase() == Phase::kReady) {
    co_await Reply(responder, R"({"status":"ready"})");
    co_return;
  }
  // A probe that is told to wait is no error of the API, so it is not counted as one.
  co_await responder.SendError(NotReady(service.phase()));
}

awaitable<void> Version(Service&, const http::Request&, http::Responder& responder) {
  co_await Reply(responder, R"({"version":")" BANYAN_VERSION R"("})");
}

awaitable<void> ShowMetrics(Service& service, const http::Request&, http::Responder& responder) {
  if (const ServedModel* model = service.model()) {
    // The engine sets this after its steps, and a long step may be running.
    service.metrics().Set(Gauge::kWaiting, static_cast<double>(model->inbox->waiting()));
  }
  http::Response response;
  response.body = service.metrics().Text();
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  co_await responder.Send(std::move(response));
}

using Function = awaitable<void> (*)(Service&, const http::Request&, http::Responder&);

struct Entry {
  const char* method;
  const char* path;
  Function function;
};

constexpr Entry kEntries[] = {
    {"POST", "/v1/chat/completions", Chat},
    {"POST", "/v1/completions", Completions},
    {"GET", "/v1/models", ListModels},
    {"GET", "/v1/models/*", ShowModel},
    {"POST", "/tokenize", Tokenize},
    {"POST", "/detokenize", Detokenize},
    {"GET", "/version", Version},
    {"GET", "/health", Health},
    {"GET", "/ready", Ready},
    {"GET", "/metrics", ShowMetrics},
};

}  // namespace

std::vector<http::Server::Route> Routes(Service& service) {
  std::vector<http::Server::Route> routes;
  for (const Entry& entry : kEntries) {
    // Not a coroutine itself: what it captures need only live as long as the server.
    routes.push_back({entry.method, entry.path,
                      [&service, function = entry.function](const http::Request& request,
                                                            http::Responder& responder) {
                        return function(service, request, responder);
                      }});
  }
  return routes;
}

}  // namespace banyan::server::openai
