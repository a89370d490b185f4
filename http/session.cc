#include "http/session.h"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "http/target.h"

namespace banyan::http {
namespace asio = boost::asio;
namespace {

// What is known of a request once its head is read.
struct Verdict {
  const Handler* handler = nullptr;
  // Without a handler: the answer.
  Error error;
  std::string allow;  // of 405
};

Verdict Refusal(int status, std::string code, std::string message) {
  Verdict verdict;
  verdict.error.status = status;
  verdict.error.code = std::move(code);
  verdict.error.message = std::move(message);
  return verdict;
}

bool IsJson(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const absl::string_view bare = absl::StripAsciiWhitespace({type.data(), type.size()});
  return absl::EqualsIgnoreCase(bare, "application/json");
}

// Decides on the head alone, so that a body that is not wanted is never read. Completes the
// request's path, query and method.
Verdict Examine(RequestParser& parser, const Shared& shared) {
  if (parser.state() == RequestParser::State::kFailed) {
    Verdict verdict;
    verdict.error = parser.error();
    return verdict;
  }
  Request& request = parser.request();
  std::optional<Target> target = ParseTarget(parser.target());
  if (!target) {
    return Refusal(400, "invalid_request",
                   "The request target is not a path that can be decoded: " + parser.target());
  }
  request.path = std::move(target->path);
  request.query = std::move(target->query);

  Router::Match match = shared.router.Find(request.method, request.path);
  if (match.allow.empty()) {
    return Refusal(404, "not_found", "There is nothing at " + request.path + ".");
  }
  if (match.handler == nullptr) {
    Verdict verdict =
        Refusal(405, "method_not_allowed",
                request.path + " takes " + match.allow + ", not " + request.method + ".");
    verdict.allow = std::move(match.allow);
    return verdict;
  }
  if (parser.has_body() && !IsJson(request.Header("content-type"))) {
    return Refusal(415, "unsupported_media_type",
                   "The Content-Type of a request body must be application/json.");
  }
  const std::string_view coding = request.Header("content-encoding");
  if (!coding.empty() && coding != "identity") {
    return Refusal(415, "unsupported_media_type",
                   "The Content-Encoding of a request body must be identity, not " +
                       std::string(coding) + ".");
  }
  const std::size_t most = shared.options.max_body_bytes;
  if (parser.body_length().value_or(0) > most) {
    return Refusal(413, "request_too_large",
                   "The request body is over the limit of " + std::to_string(most) + " bytes.");
  }
  Verdict verdict;
  verdict.handler = match.handler;
  return verdict;
}

Answer::Shape ShapeOf(RequestParser& parser) {
  Answer::Shape shape;
  if (parser.request().method == "HEAD") shape.content = Answer::Content::kHeadOnly;
  if (parser.http10()) shape.version = Answer::Version::k10;
  // Where a request ends is known only once it is read to its end.
  shape.persistent = parser.state() == RequestParser::State::kDone && parser.persistent();
  return shape;
}

}  // namespace

void Shared::Report(const std::string& what) const {
  if (options.on_error) options.on_error(what);
}

void Shared::CountRefusal(const Error& error) const {
  if (options.on_refused) options.on_refused(error.code);
}

asio::awaitable<void> Session::Run() {
  bool more = true;
  while (more) more = co_await ServeOne();
  connection_.Close();
}

asio::awaitable<bool> Session::ServeOne() {
  RequestParser::Limits limits;
  limits.head_bytes = shared_.options.max_header_bytes;
  limits.body_bytes = shared_.options.max_body_bytes;
  RequestParser parser(limits);
  if (!co_await ReadHead(parser)) co_return false;

  Verdict verdict = Examine(parser, shared_);
  if (verdict.handler != nullptr && parser.state() == RequestParser::State::kBody) {
    if (!co_await ReadBody(parser)) co_return false;
    if (parser.state() == RequestParser::State::kFailed) {
      verdict.handler = nullptr;
      verdict.error = parser.error();
    }
  }

  Answer answer(connection_, ShapeOf(parser), shared_.draining);
  if (verdict.handler != nullptr) {
    // A handler answers HEAD as it would GET; the answer leaves the body out.
    if (parser.request().method == "HEAD") parser.request().method = "GET";
    co_await Handle(*verdict.handler, parser.request(), answer);
  } else {
    shared_.CountRefusal(verdict.error);
    Response response;
    response.status = verdict.error.status;
    response.body = ErrorBody(verdict.error);
    if (!verdict.allow.empty()) response.headers.emplace_back("Allow", verdict.allow);
    co_await answer.Send(std::move(response));
  }
  if (answer.persists()) co_return true;

  const bool unread = parser.state() != RequestParser::State::kDone || !connection_.input().empty();
  if (unread && !connection_.closed()) co_await connection_.Linger();
  co_return false;
}

asio::awaitable<bool> Session::ReadHead(RequestParser& parser) {
  connection_.StartIdleTimeout();
  bool begun = !connection_.input().empty();
  for (;;) {
    Feed(parser);
    if (parser.state() != RequestParser::State::kHead) co_return true;
    if (begun) {
      // One timeout for the whole head: a byte now and then does not hold a connection.
      if (!co_await connection_.Read()) co_return false;
    } else {
      // A server that drains waits for no new request, but answers one that has begun to arrive.
      if (shared_.draining) co_return false;
      if (!co_await connection_.ReadFirst()) co_return false;
      connection_.StartIdleTimeout();
      begun = true;
    }
  }
}

asio::awaitable<bool> Session::ReadBody(RequestParser& parser) {
  if (parser.expects_continue() && connection_.input().empty()) {
    Connection::Pieces pieces;
    pieces[0] = asio::buffer(kContinue);
    if (!co_await connection_.Write(pieces)) co_return false;
  }
  for (;;) {
    Feed(parser);
    if (parser.state() != RequestParser::State::kBody) co_return true;
    connection_.StartIdleTimeout();
    if (!co_await connection_.Read()) co_return false;
  }
}

void Session::Feed(RequestParser& parser) { connection_.Consume(parser.Feed(connection_.input())); }

asio::awaitable<void> Session::Handle(const Handler& handler, const Request& request,
                                      Answer& answer) {
  std::string failure;
  try {
    co_await handler(request, answer);
    if (!answer.complete()) failure = "returned without a complete answer";
  } catch (const std::exception& exception) {
    failure = std::string("threw: ") + exception.what();
  } catch (...) {
    failure = "threw something that is no std::exception";
  }
  if (!answer.complete()) connection_.Unwatch();
  if (failure.empty() || connection_.closed()) co_return;
  shared_.Report("The handler of " + request.method + " " + request.path + " " + failure);
  Error error;
  error.status = 500;
  error.code = "internal_error";
  error.message = "The server failed to answer this request.";
  shared_.CountRefusal(error);
  co_await answer.Fail(error);
}

}  // namespace banyan::http
