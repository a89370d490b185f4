// The figures of a run. Every definition is in docs/loadtest.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/measure/result.h"

namespace banyan::loadtest {

// Limits that a request keeps or not; only those that are set count.
struct Slo {
  std::optional<Tick> ttft;     // from the scheduled time
  std::optional<Tick> itl;      // the request's mean time per token after the first
  std::optional<Tick> latency;  // end to end, from the scheduled time

  bool operator==(const Slo&) const = default;
  bool any() const { return ttft || itl || latency; }
  bool Keeps(const Record& record) const;  // a failed request keeps none
};
// "ttft=500ms,itl=50ms,e2e=10s"; kInvalidArgument says which part is wrong.
absl::StatusOr<Slo> ParseSlo(std::string_view text);
std::string Text(const Slo& slo);  // as ParseSlo reads it; "" when none is set

// Requests of one kind.
struct Group {
  std::int64_t requests = 0;  // ok
  Histogram ttft;
  Histogram ttft_scheduled;
  Histogram tpot;
  Histogram latency;
  // Of the requests that told both.
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;

  std::optional<double> hit_rate() const;
};

inline constexpr int kHitBuckets = 5;  // none; (0, 1/4]; ... (3/4, 1]
// Turns of this number and later ones are one group.
inline constexpr std::int32_t kLastTurnGroup = 32;

// The client is called the bottleneck when it kept a processor busy for more than this share of the
// run, or came to its requests later than this at the 99th percentile.
inline constexpr double kClientCpuLimit = 0.9;
inline constexpr Tick kClientLagLimit = std::chrono::milliseconds(10);

struct Summary {
  Slo slo;           // what goodput counts
  Tick measured{0};  // from the end of the warm-up to the end of the run
  Group all;
  std::map<std::int32_t, Group> by_turn;
  std::array<Group, kHitBuckets> by_hit_rate;
  std::array<std::int64_t, kOutcomes> outcomes{};
  Histogram inter_token;
  Histogram queueing;              // from the scheduled time to sending, failed ones too
  std::int64_t output_tokens = 0;  // of those that are ok
  double requests_per_second = 0;  // ok
  double tokens_per_second = 0;
  double goodput = 0;           // requests a second that keep the Slo
  double slo_share = 0;         // of all requests, failed ones too
  bool usage_missing = false;   // some answers did not tell their tokens
  bool client_limited = false;  // the figures are the client's as much as the server's

  std::int64_t requests() const;  // all after the warm-up
  std::int64_t failed() const;    // of these
};

Summary Summarize(const Result& result, const Slo& slo);

}  // namespace banyan::loadtest
