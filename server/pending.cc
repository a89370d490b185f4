#include "server/pending.h"

#include <utility>

namespace banyan::server {

using scheduler::StreamEvent;

Pending::Pending(scheduler::Inbox& inbox, RequestId id, std::size_t capacity,
                 std::shared_ptr<Wakeup> wakeup)
    : inbox_(inbox),
      id_(id),
      stream_(std::make_shared<scheduler::TokenStream>(
          capacity, [wakeup = std::move(wakeup)] { wakeup->Notify(); })) {}

Pending::~Pending() { Cancel(scheduler::CancelReason::kClientGone); }

void Pending::Take(std::vector<StreamEvent>& events) {
  stream_->Take(events);
  if (!events.empty() && events.back().kind == StreamEvent::Kind::kFinished) at_engine_ = false;
}

void Pending::Cancel(scheduler::CancelReason reason, std::int64_t output_tokens) {
  if (!std::exchange(at_engine_, false)) return;
  inbox_.Cancel({.request = id_, .reason = reason, .output_tokens = output_tokens});
}

}  // namespace banyan::server
