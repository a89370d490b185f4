// A request on its way through the scheduler: what was asked, where it is, what it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/ids.h"
#include "radix/prefix_cache.h"
#include "scheduler/request.h"
#include "scheduler/request_state.h"

namespace banyan::scheduler {

class Tenant;

// What the queue keeps of a job that waits in it; nobody else writes it.
struct QueuePlace {
  bool is_in = false;
  std::int32_t priority = 0;  // aged: the class is (priority, tenant)
  std::int64_t cached_tokens = 0;
  std::int32_t passes = 0;  // kept when it leaves and comes back
};

// Its address is stable from Submit until it is finished: batches point into it.
struct Job {
  Request request;
  std::uint64_t arrival = 0;  // unique; later requests have larger ones
  Tick since{0};              // when it was submitted; its waiting counts from here
  Tenant* tenant = nullptr;
  radix::Watch watch{this};  // on the tokens that may come from the cache, while it waits
  QueuePlace place;
  std::int64_t max_output = 0;  // request.max_tokens, cut to what context and pool leave
  RequestState state = RequestState::kWaiting;

  // From admission on. view.tokens() is the number of tokens whose KV is computed: at most
  // prompt + output - 1, because nothing ever attends to the last token.
  radix::View view;
  std::int64_t pages = 0;  // that the view may grow to; reserved
  std::int64_t cached_tokens = 0;

  std::int64_t output_tokens = 0;  // sampled and accepted
  TokenId last_token = -1;         // of them; the input of the next decode step
  // Prompt and output, from admission on; empty unless sampling.penalizes().
  std::vector<TokenId> context;

  // kEnding: how it will be finished.
  FinishReason end_reason = FinishReason::kNone;
  std::optional<std::int64_t> end_output_tokens;

  bool in_batch = false;  // a step in flight names its pages

  std::optional<Tick> admitted;
  std::optional<Tick> first_token;
  Tick latest_token{0};

  bool prompt_only() const { return max_output == 0; }  // computed and kept, nothing is sampled
  std::int64_t prompt_tokens() const { return static_cast<std::int64_t>(request.prompt.size()); }

  void MoveTo(RequestState to) {
    CHECK(MayMove(state, to));
    state = to;
  }
};

// First come, first served. The order of admission and of prefills is this type and nothing else; a
// job's place must not change while it is in a queue.
struct AdmissionOrder {
  bool operator()(const Job* a, const Job* b) const { return a->arrival < b->arrival; }
};

// Insert, remove and head in O(log n).
using JobQueue = std::set<Job*, AdmissionOrder>;

}  // namespace banyan::scheduler
