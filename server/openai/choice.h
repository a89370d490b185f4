// One choice of an exchange: its request at the engine, and the answer so far.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/inbox.h"
#include "scheduler/token_stream.h"
#include "server/openai/answer.h"
#include "server/openai/delta.h"
#include "server/openai/echo.h"
#include "server/pending.h"
#include "text/codec.h"

namespace banyan::server::openai {

// What is asked of the engine, and what is made of what it answers.
struct ChoicePlan {
  scheduler::Request request;
  Answer::Options answer{};
  std::optional<Echo> echo{};
};

// Belongs to the connection's strand.
class Choice {
 public:
  // `codec` outlives it. `pending` has the plan's request.
  Choice(const text::Codec& codec, ChoicePlan plan, std::unique_ptr<Pending> pending);

  // Takes what has come since.
  void Take();
  // What became certain since the last call.
  Delta TakeDelta() { return std::exchange(delta_, Delta()); }
  // Whether there is text to tell, or nothing will come that the rest could wait for.
  bool has_news() const {
    return !delta_.text.empty() || !delta_.reasoning.empty() || (ended() && !delta_.empty());
  }

  void Cancel() { pending_->Cancel(scheduler::CancelReason::kClientGone); }

  // A token has come, or it is complete.
  bool begun() const { return answer_.tokens() > 0 || complete(); }
  bool ended() const { return reason_ != scheduler::FinishReason::kNone; }
  bool complete() const {
    return reason_ == scheduler::FinishReason::kStop || reason_ == scheduler::FinishReason::kLength;
  }
  scheduler::FinishReason reason() const { return reason_; }
  const scheduler::Usage& usage() const { return usage_; }
  std::int64_t reasoning_tokens() const { return answer_.reasoning_tokens(); }

 private:
  void Begin();
  void End(const scheduler::StreamEvent& event);

  const bool entries_;
  std::unique_ptr<Pending> pending_;
  Answer answer_;
  std::optional<Echo> echo_;  // until the answer begins
  std::vector<ScoredToken> scores_;
  Delta delta_;
  std::vector<scheduler::StreamEvent> events_;
  scheduler::FinishReason reason_ = scheduler::FinishReason::kNone;
  scheduler::Usage usage_;
};

}  // namespace banyan::server::openai
