// Serves one connection, request after request, until it ends.
#pragma once

#include <atomic>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "http/answer.h"
#include "http/connection.h"
#include "http/request_parser.h"
#include "http/router.h"
#include "http/server.h"

namespace banyan::http {

// What all sessions of a server share; outlives them.
struct Shared {
  const Options& options;
  const Router& router;
  std::atomic<bool> draining = false;

  // To Options::on_error, if there is one.
  void Report(const std::string& what) const;
  // To Options::on_refused, if there is one.
  void CountRefusal(const Error& error) const;
};

// Runs on the connection's strand, whose coroutine owns `connection` and this.
class Session {
 public:
  Session(Connection& connection, const Shared& shared)
      : connection_(connection), shared_(shared) {}

  boost::asio::awaitable<void> Run();

 private:
  // True: the connection may carry another request.
  boost::asio::awaitable<bool> ServeOne();
  // The steps of ServeOne. False: there is nobody to answer.
  boost::asio::awaitable<bool> ReadHead(RequestParser& parser);
  boost::asio::awaitable<bool> ReadBody(RequestParser& parser);
  boost::asio::awaitable<void> Handle(const Handler& handler, const Request& request,
                                      Answer& answer);
  void Feed(RequestParser& parser);

  Connection& connection_;
  const Shared& shared_;
};

}  // namespace banyan::http
