// The same workload through the real tree and the real scheduler, without a model: time is what a
// cost model says, tokens are what segments and text determine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "loadtest/measure/summary.h"
#include "loadtest/simulate/cost_model.h"
#include "loadtest/simulate/routing.h"
#include "loadtest/workload/workload.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::loadtest {

inline constexpr std::int32_t kMaxReplicas = 1024;

struct SimulateOptions {
  std::int32_t page_tokens = 16;  // kMinPageSize..kMaxPageSize
  std::int64_t pool_pages = 0;    // of each replica, ..kMaxPages; 0: as many as are ever needed
  radix::Eviction eviction = radix::Eviction::kLru;
  std::int32_t replicas = 1;
  Routing routing = Routing::kRoundRobin;
  // No concurrency and no scheduler: every prompt goes through the tree at its arrival, whole
  // blocks are counted, a full repeat is a full hit, and answers are not kept. What papers on
  // traces count.
  bool serial = false;
  scheduler::Options scheduler;  // context_length 0: as long as the longest request
  CostModel cost;
  Slo slo;
};

struct SimulatedRow {
  std::int64_t pool_pages = 0;  // as in the options: 0 is unlimited
  std::int32_t page_tokens = 0;
  radix::Eviction eviction = radix::Eviction::kLru;
  std::int32_t replicas = 1;
  std::optional<Routing> routing;  // unless serial
  std::int64_t requests = 0;       // all of the workload: each was finished or refused
  std::int64_t refused = 0;        // too long for pool or context, and those that would follow them
  std::int64_t prompt_tokens = 0;  // of requests that were not refused
  std::int64_t cached_tokens = 0;  // of these
  double hit_rate = 0;             // of these
  std::int64_t preemptions = 0;
  std::int64_t evicted_pages = 0;
  std::int64_t most_pages = 0;     // held by requests at once, on one replica
  std::optional<Summary> summary;  // of latencies; unless serial
};

// kInvalidArgument for options out of their bounds; kResourceExhausted when an unlimited pool would
// need more pages than there can be.
absl::StatusOr<SimulatedRow> Simulate(const Workload& workload, const SimulateOptions& options);

}  // namespace banyan::loadtest
