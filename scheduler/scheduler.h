// Decides what each step runs: continuous batching with chunked prefill over the prefix cache.
//
//   loop:  batch = Next(now)  ->  model.Forward(batch)  ->  Complete(result, now)
//
// The states of a request and the moves between them are in request_state.h, checked at every
// change. Order: aged priority, the tenant's turn, cached length, arrival (docs/scheduler.md).
//
// Invariants:
//  1. Admission promises the pages of the tokens that are known, of a prompt and, when resumed, of
//     its answer so far: available_pages() >= the pages promised and not yet taken. A decode takes
//     its next page when it needs it.
//  2. When none is to be had, the running request that ranks last is preempted: lowest aged
//     priority, then youngest. So the first one always advances, and everything ends.
//  3. Every step has at most max_batch_tokens tokens. Each decoding request has one of them; what
//     is left goes to prompts, so neither starves the other (max_batch_tokens > max_running).
//  4. A request is admitted only if no running prefill of its namespace will compute more of its
//     prompt than the cache has: else it follows that one, holding nothing, until it is served or
//     its producer stops, and is back in the queue within the same call.
//  5. A request's pages are given up only after the last step that names them: a cancel takes
//     effect in the Complete of the step in flight, or at once when none is.
//  6. cached_tokens is counted once per request, at its first admission: as late as possible, in a
//     step that has room for some of its tokens (a better-ranked newcomer of the same step may take
//     that room). What it computes again after a preemption is counted apart.
//  7. Of a request with a policy (policies/policy.h) only the exact tokens are matched, published
//     and followed; what lies behind is its own, and dropped as the policy says. Its pages are
//     bounded by the policy, not by its length. When it is preempted they are put aside and come
//     back, as long as there is room for them.
//  8. Of those that run each has an open page, a number below max_running that is no other's, until
//     its pages are given up. Where the cache shares whole pages alone (radix::Sharing::kPages) the
//     model keeps under it what is not a whole page yet, and that is lost with a preemption.
//  9. The tokens of a request whose KV is computed are prompt + output - 1, because nothing attends
//     to the last one; the prompt, when nothing is sampled. All that was computed in steps that
//     succeeded, and is exact, is left to the tree.
//
// The scheduler never calls the model and never sees bytes or text. Thread safety: none; it belongs
// to the engine thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "base/clock.h"
#include "model/batch.h"
#include "radix/prefix_cache.h"
#include "scheduler/request.h"
#include "scheduler/request_state.h"

namespace banyan::scheduler {

// kOff: every prompt is computed from its beginning, to compare with and to look for faults.
enum class PrefixCaching : std::uint8_t { kOn, kOff };

inline constexpr Tick kMaxAgeing = std::chrono::hours(24 * 365);

struct Options {
  std::int32_t max_batch_tokens = 256;  // > max_running
  // Tokens of prompts in a step that also decodes, at most; >= 1. Whoever reads an answer waits for
  // the whole step between two tokens. Where n requests could run and do not decode yet for each
  // that does, n times as many.
  std::int32_t mixed_prefill_tokens = std::numeric_limits<std::int32_t>::max();
  std::int32_t max_running = 64;    // >= 1
  std::int64_t context_length = 0;  // tokens, of the model
  PrefixCaching prefix_caching = PrefixCaching::kOn;

  // How often the request that waits longest (in its tenant, at its priority) may be passed over by
  // younger ones of which more is cached; >= 0.
  std::int32_t max_passes = 16;
  // So much waiting raises a request's priority by one, up to kMaxPriority; > 0, <= kMaxAgeing.
  Tick ageing = std::chrono::seconds(10);
  // Deficit round robin: the tokens that a tenant gets per turn; >= 1.
  std::int32_t quantum = 1024;
  // A request is admitted only when those that run could each still produce so many tokens without
  // another one being preempted; >= 1.
  std::int32_t headroom_tokens = 64;
  // Pages whose bytes preempted requests with policies may have put aside, in all; >= 0. One that
  // finds no room is computed again.
  std::int64_t max_pages_aside = 1024;
};

// Whether requests can have that policy: kInvalidArgument with what is wrong with it by itself,
// kOutOfRange with the numbers when what it keeps is over the context or the pool. Pure.
absl::Status CheckPolicy(const Options& options, const radix::Options& cache,
                         const KvPolicy& policy);

// Whether a request of that size can ever run: kOutOfRange with the numbers when prompt + 1 is over
// the pool or the context, or prompt + max_tokens over the context. max_tokens < 0: none was given.
// Under a streaming policy both are bounded by kMaxPolicyTokens alone; with a budget the pool has
// the whole prompt and what survives of it at once. Pure; I/O threads ask it before they submit.
absl::Status CheckFits(const Options& options, const radix::Options& cache,
                       std::int64_t prompt_tokens, std::int64_t max_tokens,
                       const std::optional<KvPolicy>& policy = std::nullopt);

struct Admission {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  Tick queued{0};
};

// Told of what operators measure and log; called on the engine thread, must not call back. A token
// is each one sampled, an end token too. Times are never negative.
class Observer {
 public:
  virtual ~Observer() = default;
  // Once per request, the first time that it is admitted.
  virtual void OnAdmitted(const Request& request, const Admission& admission) = 0;
  // Its pages were given up for others'; it waits again, and resumes where it was. (OnAdmitted is
  // not called for that.)
  virtual void OnPreempted(const Request& request, std::int64_t output_tokens) = 0;
  virtual void OnFirstToken(const Request& request, Tick since_submit) = 0;
  virtual void OnToken(const Request& request, Tick since_last) = 0;  // the second and later ones
  // Exactly once for each submitted request, before its stream gets the end.
  virtual void OnFinished(const Request& request, FinishReason reason, const Usage& usage,
                          Tick since_submit) = 0;
};

// Where a request is, for tests and tools.
struct RequestStatus {
  RequestState state{};
  std::int32_t aged_priority = 0;     // what it asked for and what waiting added; 0..kMaxPriority
  std::int32_t passes = 0;            // how often it was passed over while it waited longest
  std::int64_t tokens = 0;            // whose KV its pages hold; 0 while it waits
  std::int64_t deficit = 0;           // its tenant's: tokens left of its turn; <= 0: a debt
  std::optional<RequestId> producer;  // kFollowing: who computes what it needs
};

struct Stats {
  std::int64_t waiting = 0;    // preempted ones too
  std::int64_t following = 0;  // of them: wait for a prefix that a running request computes
  std::int64_t running = 0;
  std::int64_t reserved_pages = 0;  // promised to running prefills, not yet taken
  // Since start, of steps that succeeded: tokens of prompts computed for the first time by their
  // request, and tokens of prompts and answers computed again after a preemption.
  std::int64_t computed_prompt_tokens = 0;
  std::int64_t recomputed_tokens = 0;
  std::int64_t preemptions = 0;  // since start
  // Since start, by KvPolicy::Type: tokens that fell out of what their request sees.
  std::array<std::int64_t, kKvPolicyTypes> dropped_tokens{};
  // Since start: admissions of a request while one of the same tenant and priority waited longer.
  std::int64_t passes = 0;
  std::int64_t steps = 0;         // since start
  std::int64_t failed_steps = 0;  // since start
};

class Scheduler {
 public:
  // `cache` and `observer` (may be null) outlive the scheduler.
  Scheduler(const Options& options, radix::PrefixCache& cache, Observer* observer = nullptr);
  ~Scheduler();  // requests that remain are finished with kShutdown

  // Queues it; one whose prompt or policy can never fit is finished at once with kRefused. A
  // max_tokens over what context and pool leave is cut to that. The queue itself is bounded by the
  // inbox.
  void Submit(Request request, Tick now);
  // Legal in every state; a request that is not known is ignored, and of two cancellations the
  // first counts. What a step in flight brings for a cancelled request is dropped.
  void Cancel(const Cancellation& cancellation, Tick now);

  // The next step; empty when there is nothing to run. Its spans stay valid until Complete.
  const Batch& Next(Tick now);
  // What came back for the batch of the last Next, which was not empty. A failed step ends all
  // requests of its batch.
  void Complete(const StepResult& result, Tick now);

  bool idle() const;  // nothing waits and nothing runs
  // Requests that left the queue since the last call, for Inbox::Left.
  std::size_t TakeLeft();
  Stats stats() const;
  // nullopt when it is not known: finished, or never submitted.
  std::optional<RequestStatus> Inspect(RequestId request, Tick now) const;
  // OK, or kInternal with the first violated invariant of queues, states and page accounts; not
  // those of the cache. O(requests).
  absl::Status CheckInvariants() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace banyan::scheduler
