#include "server/openai/reply.h"

#include <utility>

namespace banyan::server::openai {
namespace {

constexpr int kLoadingRetrySeconds = 2;
constexpr int kDrainingRetrySeconds = 10;  // by then another server has taken over

}  // namespace

http::Error NotReady(Phase phase) {
  const bool loading = phase == Phase::kLoading;
  return http::Error{
      .status = 503,
      .code = "not_ready",
      .message = loading ? "The model is being loaded." : "The server is shutting down.",
      .param = "",
      .retry_after_seconds = loading ? kLoadingRetrySeconds : kDrainingRetrySeconds};
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

}  // namespace banyan::server::openai
