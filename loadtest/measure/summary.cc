#include "loadtest/measure/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace banyan::loadtest {
namespace {

// The clock never goes back, but an answer can begin before its request was sent whole.
void Count(Tick time, Histogram& histogram) {
  histogram.Record(std::max<Tick::rep>(0, time.count()));
}

void Add(const Record& record, Group& group) {
  ++group.requests;
  Count(record.ttft(), group.ttft);
  Count(record.ttft_scheduled(), group.ttft_scheduled);
  if (const auto tpot = record.tpot()) Count(*tpot, group.tpot);
  Count(record.latency(), group.latency);
  if (record.hit_rate()) {
    group.prompt_tokens += record.prompt_tokens;
    group.cached_tokens += record.cached_tokens;
  }
}

// 0 for none, then the quarter that ends at or above the rate.
std::size_t HitBucket(double rate) {
  if (rate <= 0) return 0;
  return static_cast<std::size_t>(std::ceil(std::min(rate, 1.0) * (kHitBuckets - 1)));
}

}  // namespace

std::optional<double> Group::hit_rate() const {
  if (prompt_tokens == 0) return std::nullopt;
  return static_cast<double>(cached_tokens) / static_cast<double>(prompt_tokens);
}

std::int64_t Summary::requests() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), std::int64_t{0});
}

std::int64_t Summary::failed() const {
  return requests() - outcomes[static_cast<std::size_t>(Outcome::kOk)];
}

Summary Summarize(const Result& result, const Slo& slo) {
  Summary summary;
  summary.slo = slo;
  summary.measured = std::max(Tick(0), result.duration - result.warm_up);
  summary.inter_token = result.inter_token;
  std::int64_t kept = 0;
  for (const Record& record : result.records) {
    if (!result.Measured(record)) continue;
    ++summary.outcomes[static_cast<std::size_t>(record.outcome)];
    if (record.was_sent()) Count(record.sent - record.scheduled, summary.queueing);
    if (record.outcome != Outcome::kOk || !record.first_content) continue;
    if (slo.Keeps(record)) ++kept;
    Add(record, summary.all);
    Add(record, summary.by_turn[std::min(record.turn, kLastTurnGroup)]);
    if (const auto rate = record.hit_rate()) Add(record, summary.by_hit_rate[HitBucket(*rate)]);
    summary.output_tokens += record.tokens();
    if (record.output_tokens < 0) summary.usage_missing = true;
  }
  if (const double seconds = Seconds(summary.measured); seconds > 0) {
    summary.requests_per_second = static_cast<double>(summary.all.requests) / seconds;
    summary.tokens_per_second = static_cast<double>(summary.output_tokens) / seconds;
    summary.goodput = static_cast<double>(kept) / seconds;
  }
  if (const std::int64_t all = summary.requests(); all > 0) {
    summary.slo_share = static_cast<double>(kept) / static_cast<double>(all);
  }
  summary.client_limited = result.client.cpu_share > kClientCpuLimit ||
                           result.client.lag.Quantile(0.99) > Tick(kClientLagLimit).count();
  return summary;
}

}  // namespace banyan::loadtest
