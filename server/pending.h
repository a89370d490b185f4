// A request that the engine has, as the coroutine that answers it sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "scheduler/inbox.h"
#include "scheduler/token_stream.h"
#include "server/wakeup.h"

namespace banyan::server {

// Belongs to the connection's strand. Whatever happens to the coroutine, the engine is told: the
// destructor cancels a request whose end was not taken.
class Pending {
 public:
  // `inbox` outlives it; so does the io_context of `wakeup`'s strand the engine's work on the
  // request. `wakeup` is told when something comes, `capacity` as for TokenStream.
  Pending(scheduler::Inbox& inbox, RequestId id, std::size_t capacity,
          std::shared_ptr<Wakeup> wakeup);
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  const std::shared_ptr<scheduler::TokenStream>& stream() const { return stream_; }
  // The inbox took the request, which has this stream.
  void Taken() { at_engine_ = true; }

  // What has come since, in order; never waits.
  void Take(std::vector<scheduler::StreamEvent>& events);

  // The first call counts; none before the request was taken, or after its end was.
  void Cancel(scheduler::CancelReason reason, std::int64_t output_tokens = 0);

 private:
  scheduler::Inbox& inbox_;
  const RequestId id_;
  const std::shared_ptr<scheduler::TokenStream> stream_;
  bool at_engine_ = false;  // taken by the inbox, and neither cancelled nor ended
};

}  // namespace banyan::server
