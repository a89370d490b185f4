// What a seed makes of the world: sizes, bounds, who asks for what, and what goes wrong.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::sim {

// How often each kind of work comes, as weights.
struct Kinds {
  int hot = 0;            // one of a few system prompts, and something of its own
  int conversations = 0;  // the next turn: everything said so far, and more
  int forks = 0;          // an earlier path, cut anywhere, and something else
  int repeats = 0;        // an earlier prompt again
  int floods = 0;         // many at once that begin alike, or are alike
  int giants = 0;         // nearly as large as the pool, or the context
  int strangers = 0;      // shares nothing
};

// How often faults come: one in so many ticks (steps, requests); 0 is never.
struct Faults {
  int cancel_one_in = 0;
  int stop_one_in = 0;
  int fail_one_in = 0;
  int flush_one_in = 0;
  int slow_one_in = 0;  // requests with a reader that is slow and a stream that is small
  bool any() const {
    return cancel_one_in + stop_one_in + fail_one_in + flush_one_in + slow_one_in > 0;
  }
};

inline constexpr int kMostTenants = 4;

enum class Kind : std::uint8_t {
  kMixed,   // whatever comes, with faults
  kShares,  // all tenants wait from the first tick on
  kPulse,   // a steady number of requests, and many more at once, once
};
inline constexpr int kPulseTick = 700;
inline constexpr int kPulseWindow = 600;  // ticks that are measured before and after it
inline constexpr int kPulseEnd = 2600;    // the last tick with new requests
inline constexpr int kPulseRequests = 8;  // times the steady number

struct Scenario {
  Kind kind = Kind::kMixed;
  radix::Options cache;
  scheduler::Options scheduler;
  std::size_t max_queue = 0;  // of the inbox

  Tick tick{0};             // between steps
  int requests = 0;         // that are tried in all
  int arrivals_one_in = 1;  // ticks
  int most_at_once = 1;
  int burst_one_in = 0;    // ticks with many at once
  int steady = 0;          // kPulse: requests that are there at any time
  int shutdown_tick = -1;  // the scheduler is destroyed then; -1: never

  // The pool holds everything that could ever be computed: nothing is evicted or preempted.
  bool ample = false;
  Kinds kinds;
  Faults faults;
  int tenants = 1;
  int salts = 1;       // for each tenant
  int priorities = 1;  // 0 .. priorities - 1, at most 10
  int alphabet = 0;    // tokens that prompts are made of
  int system_prompts = 1;
  int system_length = 1;  // at most
  int own_length = 1;     // at most: what a request adds to what it shares
  int output = 1;         // max_tokens at most, mostly
  int policy_one_in = 0;  // requests that keep a part of their KV only; 0: none
};

// The world of that seed.
Scenario MakeScenario(std::uint64_t seed);
// One line.
std::string Words(const Scenario& scenario);

}  // namespace banyan::sim
