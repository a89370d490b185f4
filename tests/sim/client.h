// One request's story: what was asked, what must come of it, what the simulator counted while it
// ran, and what its reader has seen. Everything here is the simulator's own account; nothing is
// copied from the scheduler's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "scheduler/request.h"
#include "scheduler/token_stream.h"
#include "tests/sim/keeping.h"
#include "tests/sim/oracle.h"

namespace banyan::sim {

enum class Ask : std::uint8_t { kNothing, kCancel, kStopString };

struct Client {
  RequestId id{};
  scheduler::Request request;
  Realm realm = 0;
  std::optional<Keeping> keeping;  // under a policy with a budget
  bool fits = true;                // not refused
  std::int64_t max_output = 0;
  scheduler::LengthLimit limit = scheduler::LengthLimit::kNone;  // what makes that the most
  Oracle oracle;

  // Its reader.
  std::size_t capacity = 0;  // of the stream
  int reads_one_in = 1;      // takes what came in one of so many ticks
  std::shared_ptr<scheduler::TokenStream> stream;
  bool read_admitted = false;
  std::size_t read_tokens = 0;
  std::size_t read_scores = 0;
  bool woken = false;      // the stream said that there is something to read
  std::size_t unread = 0;  // events that wait in the stream, as the simulator knows
  bool read_end = false;

  // Where it is.
  bool submitted = false;  // the scheduler has it
  std::uint64_t arrival = 0;
  Tick since{0};
  bool left_queue = false;     // admitted once, or ended before
  bool running = false;        // holds pages
  bool prefill = false;        // of them: known tokens are still to be computed
  bool began = false;          // it was in a batch since it was last admitted
  bool publishes = true;       // what it computes now is shared
  bool just_admitted = false;  // for the first time, in this very Next
  int preemptions = 0;
  int passes = 0;
  bool kept_private = false;       // a step came back since it does not
  std::int64_t cached = -1;        // at its first admission
  std::int64_t began_with = 0;     // tokens that it had when it was last admitted
  std::int64_t computed = 0;       // tokens whose KV its pages hold; 0 when it does not run
  std::int64_t high_water = 0;     // the most that `computed` ever was
  std::int64_t sampled = 0;        // accepted
  bool arriving = false;           // the step in flight samples for it
  std::int64_t admitted_step = 0;  // the step that it was last admitted in
  std::int32_t node = -1;          // where its computed tokens end in the knowledge of its realm
  Ask ask = Ask::kNothing;         // the first wins
  std::int64_t stop_tokens = 0;
  bool in_flight = false;  // a step that names its pages is out
  bool in_failed_step = false;
  std::int64_t had = 0;              // tokens computed when it was preempted
  std::int64_t preempted_step = -1;  // the latest that did
  bool lost = false;                 // that step failed
  bool followed = false;
  RequestId producer{0};  // whom it follows
  Tick admitted_at{-1};
  Tick first_token_at{-1};
  Tick latest_token_at{-1};
  bool finished = false;
  scheduler::FinishReason reason = scheduler::FinishReason::kNone;
  scheduler::Usage usage;

  std::int64_t prompt_tokens() const { return static_cast<std::int64_t>(request.prompt.size()); }
  // Tokens that its view must come to hold before the next one is sampled.
  std::int64_t known() const { return prompt_tokens() + sampled; }
  std::int64_t remaining() const { return known() - computed; }
  bool live() const { return submitted && !finished; }
  bool waits() const { return live() && !running; }
  // So many of its tokens see all that is before them, and may be shared.
  std::int64_t exact() const {
    if (!request.kv_policy) return INT64_MAX;
    if (keeping) return keeping->prompt;
    return request.kv_policy->sinks + request.kv_policy->window;
  }
  // So many of its tokens may come from the cache.
  std::int64_t max_cached() const { return keeping ? keeping->max_cached() : exact(); }
  // Of so many that were computed, what the last one did not see.
  std::int64_t Dropped(std::int64_t tokens) const {
    if (keeping) return tokens - oracle.CountAfter(tokens);
    return std::max<std::int64_t>(tokens - exact(), 0);
  }
  // A chunk does not mix tokens whose scores were sent with such whose scores are wanted, nor exact
  // tokens with others, of which it may have few.
  bool cuts_chunks() const {
    return prefill && ((request.score_prompt && preemptions > 0) || request.kv_policy);
  }
  bool prompt_only() const { return max_output == 0; }
};

}  // namespace banyan::sim
