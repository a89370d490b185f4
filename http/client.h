// An HTTP/1.1 client: one request at a time on each connection, answers as they arrive, TLS.
//
// Threads: none of its own; everything runs on the executor of the coroutine that calls it, which
// is one thread (or a strand). A Client and its connections belong to that executor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/statusor.h"
#include "base/clock.h"

namespace banyan::http {

// "http://host:8080/base" or "https://host"; an IPv6 host is in brackets. kInvalidArgument for
// anything else: user names, queries and fragments too.
struct Url {
  bool tls = false;
  std::string host;  // without brackets
  std::uint16_t port = 80;
  std::string path;  // without a slash at its end; "" or "/base"
};
absl::StatusOr<Url> ParseUrl(std::string_view url);
// "host:8080": for people, and for the Host header; without a port that goes without saying.
std::string PlaceOf(const Url& url);

using Headers = std::vector<std::pair<std::string, std::string>>;

struct ClientOptions {
  Url base;
  // Of every request. Host and Content-Type replace the client's own; those of the framing and of
  // the connection, which it answers for, cannot be set.
  Headers headers;
  bool keep_alive = true;  // connections are used again; else each request has its own
  std::size_t max_idle_connections = 16384;           // kept for later
  std::chrono::milliseconds connect_timeout{10'000};  // name, connection and handshake together
  std::chrono::milliseconds read_timeout{120'000};    // nothing came, or went, for so long
  std::size_t max_answer_bytes = std::size_t{1} << 30;
  std::string ca_file;  // certificates to trust beside the system's; "": none
  bool verify_peer = true;
};

enum class ClientError : std::uint8_t {
  kNone,
  kUnresolved,  // no such host
  kRefused,     // no connection, for whatever reason
  kTls,         // handshake failed, or a certificate is not trusted
  kReset,       // the connection broke
  kTruncated,   // closed before the answer was complete
  kTimeout,     // connect_timeout or read_timeout
  kMalformed,   // not HTTP, or over max_answer_bytes
  kStopped,     // Client::Stop
};

// Takes an answer as it arrives. `at` is when the bytes were read; what one read brought has one
// time.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // Connected; the request is about to be handed to the system. Again when it is sent again.
  virtual void OnSent(Tick at) = 0;
  virtual void OnHead(int status, std::string_view content_type, Tick at) = 0;
  // The next of the body, without the framing of chunks. False: no more is wanted, and Exchange
  // then answers kNone; the connection is closed unless the same read brought the end of the
  // answer.
  virtual bool OnBody(std::string_view bytes, Tick at) = 0;
};

struct ClientRequest {
  std::string_view method = "GET";
  std::string_view target;  // appended to the base URL's path: "/v1/models"
  std::string_view body;    // "": none; else JSON
};

struct ClientResult {
  ClientError error = ClientError::kNone;
  std::string what;     // for people; empty when kNone
  bool reused = false;  // it went over a connection that had carried a request before
};

class Client {
 public:
  // kInvalidArgument for a ca_file that cannot be read and for headers that cannot be sent. `clock`
  // outlives the client, and both the context of `executor`.
  static absl::StatusOr<std::unique_ptr<Client>> Create(boost::asio::any_io_executor executor,
                                                        ClientOptions options, const Clock& clock);
  virtual ~Client() = default;

  // Sends and receives. An idle connection that the server closed meanwhile is replaced without a
  // word: the request is sent again on a new one if nothing of an answer had come. `request` and
  // `sink` live until it is done.
  virtual boost::asio::awaitable<ClientResult> Exchange(const ClientRequest& request,
                                                        AnswerSink& sink) = 0;
  // Ends everything that is under way with kStopped, soon, and all that comes later at once. May be
  // called by a sink.
  virtual void Stop() = 0;

  virtual std::size_t connections() const = 0;  // open ones, idle too
};

}  // namespace banyan::http
