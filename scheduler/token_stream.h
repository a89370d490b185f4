// One request's way back: tokens from the engine thread to the coroutine that answers.
//
// Thread safety: one producer (the engine thread) and one consumer. Bounded: a producer that finds
// it full is told so and cancels the request; it never waits. The end always fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "model/batch.h"

namespace banyan::scheduler {

enum class FinishReason : std::uint8_t {
  kNone,        // not finished
  kStop,        // an end token, or a stop string (a Cancel of that reason)
  kLength,      // max_tokens, the context or the pool is used up
  kCancelled,   // the client went away
  kSlowReader,  // the client did not read its stream
  kFailed,      // a step failed
  kRefused,     // it can never run (see the status given at submit)
  kShutdown,    // the server stopped before it was done
};

// What an answer that ended with kLength ran into.
enum class LengthLimit : std::uint8_t {
  kNone,
  kMaxTokens,  // what was asked for, or the context, whichever the client's limit was made from
  kContext,
  kPool,  // alone, it would need more pages than there are
};

// What a finished request was and cost.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt, <= prompt_tokens - 1
  // Every token sampled for it, an end token too (it was computed, though it is not sent); those
  // after a stop string, and those of a step that was in flight at a cancel, are not counted.
  std::int64_t output_tokens = 0;
  LengthLimit limit = LengthLimit::kNone;  // of an answer that ended with kLength
  // Under a policy: of the tokens that were computed those that the last one saw, and the others.
  std::int64_t kept_tokens = 0;
  std::int64_t dropped_tokens = 0;
  std::int64_t unread_tokens = 0;  // of the kept ones, what the last one did not read
  std::int32_t preemptions = 0;
  // Each runs to the end when the next never came, and is 0 when it never began itself.
  Tick queued{0};   // from submit to admission
  Tick prefill{0};  // from admission to the first token
  Tick decode{0};   // from the first token to the end
};

struct StreamEvent {
  enum class Kind : std::uint8_t { kAdmitted, kPromptScores, kToken, kFinished };
  Kind kind = Kind::kToken;
  std::int64_t cached_tokens = 0;             // kAdmitted
  TokenId token = -1;                         // kToken
  float log_probability = 0;                  // kToken
  std::vector<TokenLogprob> top;              // kToken
  std::vector<ScoredToken> scores;            // kPromptScores: of the prompt's next tokens
  FinishReason reason = FinishReason::kNone;  // kFinished
  Usage usage;                                // kFinished
};

class TokenStream {
 public:
  // `capacity` >= 1 events may wait to be read. `wake` is called by the producer, outside the lock,
  // when an event comes to an empty stream; it must be cheap and thread-safe.
  TokenStream(std::size_t capacity, std::function<void()> wake);

  // Producer. False when the stream is full (the event is not taken).
  bool Push(StreamEvent event);
  // Producer, once, last: kFinished; always taken, also when the stream is full.
  void Finish(FinishReason reason, const Usage& usage);

  // Consumer: takes all that waits, in order, into `events` (cleared first). Never waits.
  void Take(std::vector<StreamEvent>& events);

 private:
  const std::size_t capacity_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<StreamEvent> events_;  // at most capacity_, and the end
  bool finished_ = false;
};

}  // namespace banyan::scheduler
