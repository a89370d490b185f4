// The server's side of connections, as a test plays it: exactly these bytes, at exactly this
// moment. Every wait is bounded by kPatience, which no test that passes comes near.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <openssl/ssl.h>

#include "tests/http/certificate.h"
#include "tests/http/raw_client.h"

namespace banyan::http {

class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}
  ~Peer() { Close(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // False where the client does not want to.
  bool AcceptTls(SSL_CTX* context);
  const std::string& server_name() const { return server_name_; }  // that the client asked for

  std::string ReadSome();  // what one read gives; empty: the end
  // The next request, with the body that its head announces; what came of it where it ends early.
  std::string ReadRequest();
  void Send(std::string_view bytes);
  bool Ended();  // the client has closed, or reset

  void EndTls();         // with a word to the client
  void ShutdownWrite();  // the client sees the end
  // Until the client's system has all that was sent, the end too. False if not within kPatience.
  bool Deliver();
  void Close();
  void Reset();  // closes with RST

 private:
  int fd_;
  std::unique_ptr<SSL, decltype(&::SSL_free)> tls_{nullptr, &::SSL_free};
  std::string server_name_;
  std::string input_;
};

// Listens on 127.0.0.1, and plays scripts on a thread: one for each connection, in order.
class PeerServer {
 public:
  using Script = std::function<void(Peer&)>;

  PeerServer();
  ~PeerServer();  // after the last script
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  std::uint16_t port() const { return port_; }
  // Once.
  void Play(std::vector<Script> scripts);
  // Until all scripts are done: before what they refer to goes out of scope.
  void Join();

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// The client's end of the only connection to `port` of 127.0.0.1, which this process has both ends
// of. Not owned.
int ClientEnd(std::uint16_t port);
// Until a reset has come to the socket: what reads or writes next is told. False if not within
// kPatience.
bool MeetsReset(int fd);

// Something that one thread waits for and another says, once. A test whose script waits for one
// joins the script before it ends.
class Signal {
 public:
  void Set() { promise_.set_value(); }
  // False if it is not set within kPatience.
  bool Wait() { return future_.wait_for(kPatience) == std::future_status::ready; }

 private:
  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
};

// A socket bound to a port of 127.0.0.1; listens, with the shortest queue, where asked to.
class BoundPort {
 public:
  enum class Listening { kNo, kYes };
  explicit BoundPort(Listening listening);
  ~BoundPort();
  BoundPort(const BoundPort&) = delete;
  BoundPort& operator=(const BoundPort&) = delete;

  std::uint16_t port() const { return port_; }
  // Connects until nobody else can: connections then hang.
  void Fill();

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> fillers_;
};

}  // namespace banyan::http
