// An HTTP/1.1 server: connections, limits, routing, server-sent events. It knows nothing of models.
//
// Threads: `io_threads` threads run one io_context; each connection is one coroutine on its own
// strand, and a handler runs in its connection's coroutine. A handler must not block.
//
// What the server answers by itself, always with the error body and before any handler runs:
//   400 invalid_request     a request that is not HTTP, a bad Content-Length, a bad target
//   404 not_found           no route has that path
//   405 method_not_allowed  the path exists for other methods (named in Allow)
//   413 request_too_large   body over max_body_bytes
//   415 unsupported_media_type  a body whose Content-Type is not application/json,
//                               or that is compressed
//   431 headers_too_large   headers over max_header_bytes
//   500 internal_error      a handler that threw or answered nothing (after the first event: as an
//                           error event, then the end of the stream)
//   503 too_many_connections  one connection over max_connections, + Retry-After
// HEAD is answered as GET without the body, and its handler sees GET. A connection is closed after
// an answer that leaves the request's body unread, and when it stays idle for idle_timeout between
// or inside requests; a head must be complete idle_timeout after its first byte.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/statusor.h"
#include "http/message.h"

namespace banyan::http {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: a free one
  int io_threads = 1;
  std::size_t max_body_bytes = 8 << 20;
  std::size_t max_header_bytes = 16 << 10;
  std::size_t max_connections = 4096;  // one more is accepted, answered 503 and closed
  std::chrono::milliseconds idle_timeout{75'000};
  // A client that does not take what is written to it for this long is disconnected.
  std::chrono::milliseconds write_timeout{30'000};
  // Told of what no client can be told: why a handler failed, why nothing can be accepted. Called
  // from the I/O threads; must neither block nor throw.
  std::function<void(const std::string& what)> on_error;
  // Told the code of each error that the server answers by itself, under the same conditions.
  std::function<void(const std::string& code)> on_refused;
};

// One answer. A handler calls either Send/SendError once, or StartEvents, then Events any number of
// times, then FinishEvents. All of them return false once the client is gone; from then on they do
// nothing.
class Responder {
 public:
  virtual ~Responder() = default;

  virtual boost::asio::awaitable<bool> Send(Response response) = 0;
  boost::asio::awaitable<bool> SendError(const Error& error);

  // 200, text/event-stream, chunked. The head leaves together with the first event.
  virtual boost::asio::awaitable<bool> StartEvents() = 0;
  // "data: <json>\n\n" for each of `events`, all in one write.
  virtual boost::asio::awaitable<bool> Events(std::vector<std::string> events) = 0;
  // `events` and the terminating chunk in one write.
  virtual boost::asio::awaitable<bool> FinishEvents(std::vector<std::string> events) = 0;

  // `gone` is called at most once, on the connection's strand, when the client closes or resets the
  // connection before the answer is complete: at once, also while nothing is being written (and
  // inside OnDisconnect if that was before). So does a failed write, and Stop() when its patience
  // ends. A client that only shuts down its sending side counts as gone. To be called once.
  virtual void OnDisconnect(std::function<void()> gone) = 0;
  // The connection's strand.
  virtual boost::asio::any_io_executor executor() = 0;
};

// Both arguments live until the handler's coroutine ends.
using Handler = std::function<boost::asio::awaitable<void>(const Request&, Responder&)>;

class Server {
 public:
  struct Route {
    std::string method;
    // A path, or a prefix ending in '/' followed by '*' ("/v1/models/*").
    std::string path;
    Handler handler;
  };

  // Binds and listens; kAlreadyExists when the port is taken, kInvalidArgument for a bad host.
  static absl::StatusOr<std::unique_ptr<Server>> Listen(const Options& options,
                                                        std::vector<Route> routes);
  virtual ~Server() = default;

  virtual std::uint16_t port() const = 0;
  // Starts the I/O threads and returns.
  virtual void Start() = 0;
  // Stops accepting; idle connections are closed, others after the answer they are in.
  virtual void StopAccepting() = 0;
  // True as soon as no connection is left, false if there still is one after `patience`.
  virtual bool WaitIdle(std::chrono::milliseconds patience) = 0;
  // Waits until no connection is left, at most `patience`; then closes those that are, and joins.
  // Not to be called from a handler. A handler that does not return soon after its client is gone
  // is destroyed with the Server: what it waits for must not resume or destroy it later than that.
  virtual void Stop(std::chrono::milliseconds patience) = 0;

  virtual std::size_t connections() const = 0;
};

}  // namespace banyan::http
