// The pieces of server.h that need no socket: request headers and the error body.
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/utf8.h"
#include "http/server.h"

namespace banyan::http {
namespace {

// The `type` that OpenAI's API gives to an error of that status.
std::string_view ErrorType(int status) {
  if (status == 401) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

}  // namespace

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string ErrorBody(const Error& error) {
  boost::json::object body;
  body["message"] = ToValidUtf8(error.message);
  body["type"] = ErrorType(error.status);
  if (error.param.empty()) {
    body["param"] = nullptr;
  } else {
    body["param"] = ToValidUtf8(error.param);
  }
  body["code"] = ToValidUtf8(error.code);
  boost::json::object whole;
  whole["error"] = std::move(body);
  return boost::json::serialize(whole);
}

// Not a coroutine, so that `error` may be a temporary of the caller.
boost::asio::awaitable<bool> Responder::SendError(const Error& error) {
  Response response;
  response.status = error.status;
  response.body = ErrorBody(error);
  if (error.retry_after_seconds > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after_seconds));
  }
  return Send(std::move(response));
}

}  // namespace banyan::http
