// The connections of a client and what is done with them: taken, opened, used for one exchange,
// kept for the next.
//
//   TakeIdle ──► none ──► Open (name, connection, handshake) ──┐
//      └────────────────────────────────────────────────────► Send ──► Receive ──► PutIdle
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>

#include "base/clock.h"
#include "http/addresses.h"
#include "http/answer_parser.h"
#include "http/client.h"
#include "http/client_connection.h"
#include "http/client_request.h"
#include "http/deadlines.h"

namespace banyan::http {

class ClientPool {
 public:
  // `tls`: of an https base. `clock` outlives the pool.
  ClientPool(const boost::asio::any_io_executor& executor, ClientOptions options,
             const Clock& clock, std::optional<boost::asio::ssl::context> tls);

  // `self` is this: an exchange that is never finished, only destroyed, needs its pool until then.
  boost::asio::awaitable<ClientResult> Exchange(std::shared_ptr<ClientPool> self,
                                                const ClientRequest& request, AnswerSink& sink);
  void Stop();
  std::size_t connections() const { return deadlines_->size() + idle_.size(); }

 private:
  using ConnectionPtr = std::unique_ptr<ClientConnection>;
  using ErrorCode = ClientConnection::ErrorCode;

  // A connection at work on one exchange.
  struct Job {
    Job(ClientPool& of, ConnectionPtr over, const ClientRequest& asked, AnswerSink& to);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    ClientPool& pool;
    ConnectionPtr connection;
    const ClientRequest& request;
    AnswerSink& sink;
    AnswerParser parser;
    const Deadlines::Place place;
    bool sent = false;  // all of the request
    ErrorCode broken;   // by which a write failed, where it was not the server that ended in order
    ClientResult result;
    bool reusable = false;
  };

  ConnectionPtr TakeIdle();
  void PutIdle(ConnectionPtr connection);

  boost::asio::awaitable<void> Run(Job& job);
  // These set job.result.error where they fail.
  boost::asio::awaitable<void> Open(Job& job);
  boost::asio::awaitable<void> Connect(Job& job);
  boost::asio::awaitable<void> Send(Job& job);
  boost::asio::awaitable<void> Receive(Job& job);

  void End(Job& job, ErrorCode error);
  void Fail(Job& job, ClientError error, std::string what) const;
  // True, and the result says so, once Stop or a deadline has closed the job's connection.
  bool Closed(Job& job) const;

  const boost::asio::any_io_executor executor_;
  const ClientOptions options_;
  const Clock& clock_;
  const std::string place_;  // for people
  const RequestWriter writer_;
  std::optional<boost::asio::ssl::context> tls_;
  const std::shared_ptr<Addresses> addresses_;
  const std::shared_ptr<Deadlines> deadlines_;
  std::vector<ConnectionPtr> idle_;  // the last one used is taken first
  bool stopped_ = false;
};

}  // namespace banyan::http
