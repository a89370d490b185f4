#include "server/pending.h"

#include <utility>

namespace banyan::server {

using scheduler::Inbox;
using scheduler::StreamEvent;

Pending::Pending(Inbox& inbox, RequestId id, std::size_t capacity,
                 const boost::asio::any_io_executor& strand)
    : inbox_(inbox),
      id_(id),
      wakeup_(std::make_shared<Wakeup>(strand)),
      stream_(std::make_shared<scheduler::TokenStream>(capacity,
                                                       [wakeup = wakeup_] { wakeup->Notify(); })) {}

Pending::~Pending() { Cancel(scheduler::CancelReason::kClientGone); }

Inbox::Submitted Pending::Submit(scheduler::Request request) {
  request.id = id_;
  request.stream = stream_;
  const Inbox::Submitted submitted = inbox_.Submit(std::move(request));
  at_engine_ = submitted == Inbox::Submitted::kTaken;
  return submitted;
}

boost::asio::awaitable<void> Pending::Take(std::vector<StreamEvent>& events) {
  stream_->Take(events);
  while (events.empty()) {
    co_await wakeup_->Wait();
    stream_->Take(events);
  }
  if (events.back().kind == StreamEvent::Kind::kFinished) at_engine_ = false;
}

void Pending::Cancel(scheduler::CancelReason reason, std::int64_t output_tokens) {
  if (!std::exchange(at_engine_, false)) return;
  inbox_.Cancel({.request = id_, .reason = reason, .output_tokens = output_tokens});
}

}  // namespace banyan::server
