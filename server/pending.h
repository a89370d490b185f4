// A request that the engine has, as the coroutine that answers it sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/ids.h"
#include "scheduler/inbox.h"
#include "scheduler/token_stream.h"
#include "server/wakeup.h"

namespace banyan::server {

// Belongs to the connection's strand. Whatever happens to the coroutine, the engine is told: the
// destructor cancels a request whose end was not taken.
class Pending {
 public:
  // `inbox` outlives it; so does the io_context of `strand` the engine's work on the request.
  // `capacity` as for TokenStream.
  Pending(scheduler::Inbox& inbox, RequestId id, std::size_t capacity,
          const boost::asio::any_io_executor& strand);
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  // Hands over the request, whose id and stream are filled in.
  scheduler::Inbox::Submitted Submit(scheduler::Request request);

  // What has come since, in order; waits until there is something. Not after the end was taken.
  boost::asio::awaitable<void> Take(std::vector<scheduler::StreamEvent>& events);

  // The first call counts; none after the end was taken.
  void Cancel(scheduler::CancelReason reason, std::int64_t output_tokens = 0);

 private:
  scheduler::Inbox& inbox_;
  const RequestId id_;
  const std::shared_ptr<Wakeup> wakeup_;
  const std::shared_ptr<scheduler::TokenStream> stream_;
  bool at_engine_ = false;  // taken by the inbox, and neither cancelled nor ended
};

}  // namespace banyan::server
