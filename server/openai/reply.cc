#include "server/openai/reply.h"

#include <utility>

namespace banyan::server::openai {
namespace {

constexpr int kLoadingRetrySeconds = 2;
constexpr int kOtherRetrySeconds = 10;  // by then another server has taken over

}  // namespace

http::Error NotReady(Phase phase) {
  const bool loading = phase == Phase::kLoading;
  return http::Error{.status = 503,
                     .code = "not_ready",
                     .message = loading ? "The model is being loaded."
                                : phase == Phase::kFailed
                                    ? "What computes has failed; the server has to be "
                                      "started again."
                                    : "The server is shutting down.",
                     .param = "",
                     .retry_after_seconds = loading ? kLoadingRetrySeconds : kOtherRetrySeconds};
}

boost::asio::awaitable<void> Refuse(Service& service, http::Responder& responder,
                                    http::Error error) {
  service.metrics().CountHttpError(error.code);
  co_await responder.SendError(error);
}

boost::asio::awaitable<void> Reply(http::Responder& responder, std::string json) {
  http::Response response;
  response.body = std::move(json);
  co_await responder.Send(std::move(response));
}

boost::asio::awaitable<void> ReplyAtOnce(
    Service& service, const http::Request& request, http::Responder& responder,
    Result<std::string> (*make)(const Service&, const ServedModel&, const http::Request&)) {
  const ServedModel* model = service.model();
  if (model == nullptr) {
    co_await Refuse(service, responder, NotReady(service.phase()));
    co_return;
  }
  Result<std::string> json = make(service, *model, request);
  if (!json.ok()) {
    co_await Refuse(service, responder, json.error());
    co_return;
  }
  co_await Reply(responder, std::move(*json));
}

}  // namespace banyan::server::openai
