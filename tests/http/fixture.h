// A server with routes that show what a handler sees and let a test decide when it goes on.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "http/server.h"
#include "tests/http/gate.h"
#include "tests/http/raw_client.h"

namespace banyan::http {

// Named counters through which handlers tell the test how far they are. Thread-safe.
class Ledger {
 public:
  void Count(const std::string& name);
  int Of(const std::string& name) const;
  // False if the count does not get there within kPatience.
  bool WaitFor(const std::string& name, int count = 1);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> counts_;
};

class ServerTest : public testing::Test {
 protected:
  // A free port and timeouts that no test reaches by accident.
  static Options DefaultOptions();
  // Errors that the server reports are counted under their text.
  void Start(Options options = DefaultOptions());
  void TearDown() override;

  std::uint16_t port() const { return server_->port(); }
  // One request on a connection of its own.
  Reply Ask(const std::string& request) const;
  // False if the server does not come to have so many connections within kPatience.
  bool WaitForConnections(std::size_t count) const;

  Ledger ledger_;
  Gate gate_;
  std::unique_ptr<Server> server_;

 private:
  // GET  /hello          {"hello":"world"}
  // GET  /empty          204
  // GET  /injection      a header whose value has a line break
  // GET  /request/*      method, path and query; POST /echo: the body
  // POST /wait           counts "waiting"; after the gate, or "gone", answers and counts "answered"
  //                      or "unanswered"
  // GET  /stuck          never returns
  // GET  /large          16 MiB
  // GET  /stream         counts "started"; events one and two; after the gate, three and [DONE]
  // GET  /flood          events until the client is gone, then counts "flood over"
  // GET  /throw, /throw-number, /nothing, /throw-started, /throw-streaming, /unfinished,
  //      /throw-after: each does what it says
  std::vector<Server::Route> Routes();
  boost::asio::awaitable<void> Wait(Responder& responder);
  boost::asio::awaitable<void> Stream(Responder& responder);
  boost::asio::awaitable<void> Flood(Responder& responder);
  void AddFaultyRoutes(std::vector<Server::Route>* routes);
};

}  // namespace banyan::http
