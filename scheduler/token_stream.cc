#include "scheduler/token_stream.h"

#include <utility>

#include "base/check.h"

namespace banyan::scheduler {

TokenStream::TokenStream(std::size_t capacity, std::function<void()> wake)
    : capacity_(capacity), wake_(std::move(wake)) {
  CHECK(capacity_ >= 1 && wake_ != nullptr);
}

bool TokenStream::Push(StreamEvent event) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    CHECK(!finished_ && event.kind != StreamEvent::Kind::kFinished);
    if (events_.size() >= capacity_) return false;
    was_empty = events_.empty();
    events_.push_back(std::move(event));
  }
  if (was_empty) wake_();
  return true;
}

void TokenStream::Finish(FinishReason reason, const Usage& usage) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    CHECK(!finished_ && reason != FinishReason::kNone);
    finished_ = true;
    was_empty = events_.empty();
    StreamEvent& event = events_.emplace_back();
    event.kind = StreamEvent::Kind::kFinished;
    event.reason = reason;
    event.usage = usage;
  }
  if (was_empty) wake_();
}

void TokenStream::Take(std::vector<StreamEvent>& events) {
  events.clear();
  const std::lock_guard lock(mutex_);
  events.swap(events_);  // each side goes on with the other's memory
}

}  // namespace banyan::scheduler
