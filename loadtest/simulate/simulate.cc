#include "loadtest/simulate/simulate.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "loadtest/simulate/event_loop.h"
#include "loadtest/simulate/serial.h"

namespace banyan::loadtest {
namespace {

absl::Status Within(const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (least <= value && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", value, ", which is not from ", least, " to ", most));
}

absl::Status Check(const SimulateOptions& options) {
  absl::Status status = Within("tokens of a page", options.page_tokens, kMinPageSize, kMaxPageSize);
  status.Update(Within("pages of a pool", options.pool_pages, 0, kMaxPages));
  status.Update(Within("replicas", options.replicas, 1, kMaxReplicas));
  if (options.serial) {
    status.Update(Within("replicas without concurrency", options.replicas, 1, 1));
    return status;
  }
  const scheduler::Options& bounds = options.scheduler;
  status.Update(Within("requests that run at once", bounds.max_running, 1, kMaxBatchTokens - 1));
  status.Update(Within("tokens of a step, more than requests that run,", bounds.max_batch_tokens,
                       std::int64_t{bounds.max_running} + 1, kMaxBatchTokens));
  status.Update(Within("tokens of prompts beside decodes", bounds.mixed_prefill_tokens, 1,
                       std::numeric_limits<std::int32_t>::max()));
  status.Update(
      Within("the context", bounds.context_length, 0, std::numeric_limits<std::int32_t>::max()));
  return status;
}

}  // namespace

absl::StatusOr<SimulatedRow> Simulate(const Workload& workload, const SimulateOptions& options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  SimulatedRow row =
      options.serial ? SimulateSerial(workload, options) : EventLoop(workload, options).Run();
  row.pool_pages = options.pool_pages;
  row.page_tokens = options.page_tokens;
  row.eviction = options.eviction;
  row.replicas = options.replicas;
  if (!options.serial) row.routing = options.routing;
  if (row.prompt_tokens > 0) {
    row.hit_rate = static_cast<double>(row.cached_tokens) / static_cast<double>(row.prompt_tokens);
  }
  if (options.pool_pages == 0 && row.evicted_pages > 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the workload needs more than ", kMaxPages, " pages of ", options.page_tokens,
                     " tokens: no pool of these is unlimited for it"));
  }
  return row;
}

}  // namespace banyan::loadtest
