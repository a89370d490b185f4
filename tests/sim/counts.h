// What happened in simulations, so that one can see that they reach what they are for.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "scheduler/request_state.h"

namespace banyan::sim {

struct Counts {
  std::int64_t seeds = 0;
  std::int64_t ticks = 0;
  std::int64_t steps = 0;
  std::int64_t requests = 0;
  std::int64_t refused = 0;
  std::int64_t turned_away = 0;  // by a full inbox
  std::int64_t whole_answers = 0;
  std::int64_t computed_tokens = 0;
  std::int64_t cached_tokens = 0;  // of prompts
  std::int64_t exact_hits = 0;     // admissions whose cached length had to be exactly the naive one
  std::int64_t copies = 0;
  std::int64_t open_copies = 0;  // from a page that its producer still writes
  std::int64_t evicted_pages = 0;
  std::int64_t deduplicated_pages = 0;
  std::int64_t detached_pages = 0;  // ticks with some
  std::int64_t preemptions = 0;
  std::int64_t preempted_producers = 0;  // that others followed
  std::int64_t resumptions = 0;
  std::int64_t recomputed_tokens = 0;
  std::int64_t followed = 0;  // requests that did
  std::int64_t passes = 0;
  std::int64_t compared_shares = 0;  // of two tenants that wait, after a step
  std::int64_t promoted = 0;         // admissions at a higher priority than was asked for
  std::int64_t pool_filled = 0;      // answers that the pool ended
  std::int64_t policies = 0;         // requests that keep a part of their KV only
  std::int64_t dropped_pages = 0;    // of theirs, by tables that do not name them any more
  std::int64_t compactions = 0;      // to pages of their own
  std::int64_t compactions_in_place = 0;
  std::int64_t brought_back = 0;  // resumptions with what had been put aside
  std::array<std::int64_t, scheduler::kRequestStates> cancels{};  // by state
  std::int64_t cancels_in_flight = 0;
  std::int64_t cancels_preempted = 0;  // while it waited again
  std::int64_t stop_strings = 0;
  std::int64_t failed_steps = 0;
  std::int64_t flushes = 0;
  std::int64_t slow_readers = 0;
  std::int64_t shutdowns = 0;
  std::int64_t calm_percent = 0;  // of the bound that the end took, at most; not a sum

  void Add(const Counts& other);
  // One line.
  std::string Words() const;
  // The first thing that happened less than `least` times; empty when there is none.
  std::string Missing(std::int64_t least) const;
};

}  // namespace banyan::sim
