#include "server/openai/choice.h"

#include <iterator>

namespace banyan::server::openai {

using scheduler::CancelReason;
using scheduler::FinishReason;
using scheduler::StreamEvent;

Choice::Choice(const text::Codec& codec, ChoicePlan plan, std::unique_ptr<Pending> pending)
    : entries_(plan.answer.entries),
      pending_(std::move(pending)),
      answer_(codec, std::move(plan.answer)),
      echo_(std::move(plan.echo)) {}

void Choice::Take() {
  if (ended()) return;
  pending_->Take(events_);
  for (StreamEvent& event : events_) {
    switch (event.kind) {
      case StreamEvent::Kind::kAdmitted:
        break;
      case StreamEvent::Kind::kPromptScores:
        std::move(event.scores.begin(), event.scores.end(), std::back_inserter(scores_));
        break;
      case StreamEvent::Kind::kToken:
        Begin();
        delta_.Append(answer_.Push({.token = event.token,
                                    .log_probability = event.log_probability,
                                    .top = std::move(event.top)}));
        if (answer_.stopped()) pending_->Cancel(CancelReason::kStopString, answer_.tokens());
        break;
      case StreamEvent::Kind::kFinished:
        End(event);
        break;
    }
  }
}

void Choice::Begin() {
  if (!echo_) return;
  delta_ = entries_ ? echo_->Tell(std::move(scores_)) : echo_->Tell();
  echo_.reset();
}

void Choice::End(const StreamEvent& event) {
  reason_ = event.reason;
  usage_ = event.usage;
  // The engine may have run on, and even ended the request, before it heard of the stop string.
  if (answer_.stopped() && reason_ != FinishReason::kCancelled) {
    reason_ = FinishReason::kStop;
    usage_.output_tokens = answer_.tokens();
  }
  if (complete()) Begin();
  delta_.Append(answer_.Finish());
}

}  // namespace banyan::server::openai
