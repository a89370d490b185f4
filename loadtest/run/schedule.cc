#include "loadtest/run/schedule.h"

#include <algorithm>

namespace banyan::loadtest {

absl::Status Check(const Workload& workload, const RunOptions& options) {
  if (workload.conversations.empty()) {
    return absl::InvalidArgumentError("the workload is empty");
  }
  const Tick none(0);
  if (options.concurrency < 0 || options.ramp_steps < 0 || options.ramp < none ||
      options.warm_up < none || options.max_time < none || options.grace < none ||
      options.max_requests < 0 || options.metrics_every < none) {
    return absl::InvalidArgumentError("a bound of the run is negative");
  }
  if (options.max_in_flight < 1) {
    return absl::InvalidArgumentError("at least one request must be allowed in flight");
  }
  if (options.max_time > none && options.warm_up >= options.max_time) {
    return absl::InvalidArgumentError("nothing would be measured: the warm-up lasts all the time");
  }
  if (LoopOf(options) == Loop::kClosed) return absl::OkStatus();
  for (const Conversation& conversation : workload.conversations) {
    if (!conversation.turns.front().at) {
      return absl::InvalidArgumentError(
          "the source has no times: a rate or a concurrency is wanted");
    }
  }
  return absl::OkStatus();
}

Due FirstDue(const Turn& turn, Loop loop, Tick place_free) {
  const Tick at = loop == Loop::kOpen ? turn.at.value_or(Tick(0)) : place_free;
  return {at, at};
}

Due NextDue(const Turn& turn, Loop loop, Tick answered) {
  if (loop == Loop::kOpen && turn.at) return {*turn.at, std::max(*turn.at, answered)};
  return {answered + turn.think, answered + turn.think};
}

Tick JoinOf(std::int32_t place, const RunOptions& options) {
  if (options.concurrency <= 1) return Tick(0);
  if (options.ramp_steps == 0) return options.ramp * place / options.concurrency;
  const std::int64_t step = std::int64_t{place} * options.ramp_steps / options.concurrency;
  return options.ramp * step / options.ramp_steps;
}

std::int64_t Planned(const Workload& workload, const RunOptions& options) {
  const std::int64_t turns = CountTurns(workload);
  return options.max_requests > 0 ? std::min(turns, options.max_requests) : turns;
}

std::optional<Tick> TimeLeft(const RunOptions& options, Tick now, std::int64_t done,
                             std::int64_t planned) {
  std::optional<Tick> left;
  if (options.max_time > Tick(0)) left = std::max(options.max_time - now, Tick(0));
  if (done > 0) {
    const double mean = static_cast<double>(now.count()) / static_cast<double>(done);
    const double rest = mean * static_cast<double>(planned - done);
    const Tick by_rate(static_cast<Tick::rep>(std::min(rest, 1e18)));
    left = left ? std::min(*left, by_rate) : by_rate;
  }
  return left;
}

}  // namespace banyan::loadtest
