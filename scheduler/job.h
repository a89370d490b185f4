// A request on its way through the scheduler: what was asked, where it is, what it holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/ids.h"
#include "radix/prefix_cache.h"
#include "scheduler/policies/policy.h"
#include "scheduler/request.h"
#include "scheduler/request_state.h"
#include "scheduler/token_stream.h"

namespace banyan::scheduler {

class Tenant;
struct Job;

// What the queue keeps of a job that waits in it; nobody else writes it.
struct QueuePlace {
  bool is_in = false;
  std::int32_t priority = 0;  // aged: the class is (priority, tenant)
  std::int64_t cached_tokens = 0;
  std::int32_t passes = 0;  // kept when it leaves and comes back
};

// What a request with a policy had in pages of its own when it was preempted: their bytes are put
// aside, until they are back in pages of another view.
struct Aside {
  std::uint64_t step = 0;            // that saves them
  std::vector<std::int32_t> places;  // of the pages of its view's table
  std::int64_t tokens = 0;
  std::int64_t slots = 0;
  PageGap gap;
};

// Followers in the order in which they are served.
struct ServedFirst {
  bool operator()(const Job* a, const Job* b) const;
};

// Its address is stable from Submit until it is finished: batches, queues and watches point to it.
struct Job {
  Request request;              // but for its prompt, which is the beginning of `tokens`
  std::vector<TokenId> tokens;  // the prompt, then what was sampled
  std::int64_t prompt_tokens = 0;
  std::uint64_t arrival = 0;  // unique; later requests have larger ones
  Tick due{0};                // when it was submitted, moved ahead by its priority (priority.h)
  Tenant* tenant = nullptr;
  // request.max_tokens, cut to what context and pool leave, and which of them it is.
  std::int64_t max_output = 0;
  LengthLimit limit = LengthLimit::kNone;
  std::unique_ptr<const Policy> policy;  // null: everything is kept, and exact
  RequestState state = RequestState::kWaiting;

  // kWaiting
  QueuePlace place;
  radix::Watch watch{this};  // on what may come from the cache

  // kFollowing: until its producer has so many tokens.
  Job* producer = nullptr;
  std::int64_t follow_until = 0;

  // While it runs. view.tokens() is the number of tokens whose KV is computed: never the last one
  // of the answer's, because nothing attends to it.
  radix::View view;
  // Open while a step in flight copies to it what survives of `view`, which it then replaces.
  radix::View survivors;
  std::int32_t open_page = -1;  // among those that run: no other of them has this number
  // Of its own, where it has a policy: while it runs, and while it has put something aside.
  std::int32_t observer = kernels::Observation::kNobody;
  // While it waits to resume; when it runs again, until a step has brought it back to its view.
  std::optional<Aside> aside;
  std::int64_t reserved_pages = 0;  // promised and not taken
  std::set<Job*, ServedFirst> followers;
  std::multiset<Tick> follower_dues;  // theirs: it has the priority of the most urgent one
  bool in_batch = false;              // a step in flight names its pages

  std::int64_t cached_tokens = 0;    // at its first admission
  std::int64_t computed_tokens = 0;  // the most that its view had: what it computes below is again
  std::int32_t preemptions = 0;

  // kEnding: how it will be finished.
  FinishReason end_reason = FinishReason::kNone;
  std::optional<std::int64_t> end_output_tokens;

  std::optional<Tick> admitted;
  std::optional<Tick> first_token;
  Tick latest_token{0};

  std::int64_t known_tokens() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t output_tokens() const { return known_tokens() - prompt_tokens; }
  // So many leading tokens may be shared.
  std::int64_t exact_tokens() const {
    if (policy == nullptr) return std::numeric_limits<std::int64_t>::max();
    return policy->exact_tokens(prompt_tokens);
  }
  // So many of the known ones may come from the cache.
  std::int64_t max_cached() const {
    const std::int64_t most = known_tokens() - 1;
    return policy == nullptr ? most : std::min(most, policy->max_cached(prompt_tokens));
  }
  bool was_compacted() const { return view.slots() < view.tokens(); }
  // What of its slots survives before its next token; nothing: all of them. While it runs.
  std::optional<kernels::KeepRule> compaction() const {
    if (policy == nullptr) return std::nullopt;
    return policy->compaction(prompt_tokens, view.tokens(), view.slots());
  }
  // Those that the next token finds valid.
  std::int64_t next_slot() const {
    const std::optional<kernels::KeepRule> keep = compaction();
    return keep ? keep->kept(view.slots()) : view.slots();
  }
  // Of those that were computed: what the last one did not see.
  std::int64_t dropped_tokens() const {
    return policy == nullptr ? 0 : policy->dropped_tokens(prompt_tokens, computed_tokens);
  }
  // Of a prompt to be scored: up to here its scores were sent.
  std::int64_t scored_tokens() const {
    return request.score_prompt ? std::min(computed_tokens, prompt_tokens) : 0;
  }
  bool prompt_only() const { return max_output == 0; }  // computed and kept, nothing is sampled
  bool is_running() const {
    return state == RequestState::kPrefill || state == RequestState::kDecode ||
           state == RequestState::kEnding;
  }
  // Known tokens whose KV is still to be computed; while it runs.
  std::int64_t to_compute() const { return known_tokens() - view.tokens(); }

  void MoveTo(RequestState to) {
    CHECK(MayMove(state, to));
    state = to;
  }
};

inline bool ServedFirst::operator()(const Job* a, const Job* b) const {
  if (a->follow_until != b->follow_until) return a->follow_until < b->follow_until;
  return a->arrival < b->arrival;
}

}  // namespace banyan::scheduler
