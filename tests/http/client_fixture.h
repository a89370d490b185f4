// A client on this thread, under a clock that the test moves, and a server that plays scripts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "http/client.h"
#include "tests/http/peer.h"
#include "tests/http/recorder.h"

namespace banyan::http {

class ClientTest : public testing::Test {
 protected:
  // Timeouts that come only when the clock is moved, and are noticed at once then.
  static constexpr std::chrono::milliseconds kConnectTimeout{10};
  static constexpr std::chrono::milliseconds kReadTimeout{20};

  void TearDown() override;

  // Of 127.0.0.1 and the server's port.
  ClientOptions Options() const;
  void Start(ClientOptions options);
  // A server with these scripts and a client of it.
  void Serve(std::vector<PeerServer::Script> scripts);

  // Begins at the next Run().
  void Begin(const ClientRequest& request, Recorder& recorder, std::optional<ClientResult>* result);
  // Until nothing is pending.
  void Run();
  ClientResult Ask(Recorder& recorder, const ClientRequest& request = Get("/"));
  ClientResult Ask();
  // Asks, gets as far as it comes without an answer, then goes on until nothing is pending after
  // `end`.
  ClientResult AskAndThen(Recorder& recorder, const std::function<void()>& end);

  // Has a request meet a reset, when it is sent first: it says `sending`, at which the script is to
  // reset, and goes on when the reset has come.
  void SendIntoReset(Recorder& recorder, Signal& sending) const;

  static ClientRequest Get(std::string_view target);
  static ClientRequest Post(std::string_view target, std::string_view body);
  // An answer with a Content-Length.
  static std::string Answer(const std::string& body, const std::string& headers = "");
  // Reads a request and answers "ok".
  static void AnswerOk(Peer& peer);

  FakeClock clock_;
  boost::asio::io_context context_;
  std::unique_ptr<Client> client_;
  PeerServer server_;
};

}  // namespace banyan::http
