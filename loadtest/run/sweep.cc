#include "loadtest/run/sweep.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "loadtest/report/format.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

constexpr double kLeastGain = 1.05;
constexpr double kLeastShare = 0.9;
constexpr double kMaxConcurrency = 1 << 20;

double Worth(const SweepStep& step, const Slo& slo) {
  return slo.any() ? step.summary.goodput : step.summary.tokens_per_second;
}

absl::StatusOr<double> ParseLoad(const std::string& text, Sweep::Over over) {
  double load = 0;
  const bool is_number = absl::SimpleAtod(text, &load) && std::isfinite(load) && load > 0;
  const bool fits =
      over == Sweep::Over::kRate || (load == std::floor(load) && load <= kMaxConcurrency);
  if (is_number && fits) return load;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no load to sweep over"));
}

}  // namespace

std::string_view Name(Sweep::Over over) {
  return over == Sweep::Over::kConcurrency ? "concurrency" : "rate";
}

absl::StatusOr<Sweep> ParseSweep(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), absl::MaxSplits('=', 1));
  Sweep sweep;
  if (parts.size() == 2 && parts[0] == "rate") {
    sweep.over = Sweep::Over::kRate;
  } else if (parts.size() != 2 || parts[0] != "concurrency") {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", std::string(text), "' is no sweep such as concurrency=1,2,4 or rate=0.5,1,2"));
  }
  const std::vector<std::string> loads = absl::StrSplit(parts[1], ',');
  if (loads.size() > kMaxSweepSteps) {
    return absl::InvalidArgumentError(absl::StrCat("a sweep of over ", kMaxSweepSteps, " steps"));
  }
  for (const std::string& one : loads) {
    const absl::StatusOr<double> load = ParseLoad(one, sweep.over);
    if (!load.ok()) return load.status();
    if (!sweep.loads.empty() && *load <= sweep.loads.back()) {
      return absl::InvalidArgumentError("the loads of a sweep must ascend");
    }
    sweep.loads.push_back(*load);
  }
  return sweep;
}

std::string KneeReason(const std::vector<SweepStep>& steps, const Slo& slo) {
  if (steps.empty()) return "";
  const SweepStep& last = steps.back();
  if (slo.any() && last.summary.slo_share < kLeastShare) {
    return absl::StrFormat("%.0f%% of requests kept the limits", 100 * last.summary.slo_share);
  }
  double best = 0;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) best = std::max(best, Worth(steps[i], slo));
  if (best > 0 && Worth(last, slo) < kLeastGain * best) {
    return absl::StrFormat("%s grew by less than %.0f%%", slo.any() ? "goodput" : "tokens a second",
                           100 * (kLeastGain - 1));
  }
  return "";
}

std::string SweepTable(Sweep::Over over, const std::vector<SweepStep>& steps, const Slo& slo) {
  std::string table =
      absl::StrFormat("%12s %8s %8s %10s %10s %10s %10s %7s", Name(over).data(), "ok", "failed",
                      "requests/s", "tokens/s", "TTFT p50", "TTFT p99", "hits");
  if (slo.any()) absl::StrAppendFormat(&table, " %8s %6s", "goodput", "kept");
  table += '\n';
  for (const SweepStep& step : steps) {
    const Summary& summary = step.summary;
    // From scheduled: beyond the knee the wait before sending is what grows.
    const Histogram& ttft = summary.all.ttft_scheduled;
    const std::optional<double> hits = summary.all.hit_rate();
    absl::StrAppendFormat(&table, "%12g %8d %8d %10.2f %10.1f %10s %10s %7s", step.load,
                          summary.all.requests, summary.failed(), summary.requests_per_second,
                          summary.tokens_per_second, FormatTimeOf(ttft, 0.5),
                          FormatTimeOf(ttft, 0.99), hits ? FormatShare(*hits) : "-");
    if (slo.any()) {
      absl::StrAppendFormat(&table, " %8.2f %6s", summary.goodput, FormatShare(summary.slo_share));
    }
    table += '\n';
  }
  return table;
}

void Salt(std::uint64_t salt, Workload& workload) {
  // An odd factor keeps different salts' masks different; xor keeps different keys different.
  const std::uint64_t mask = salt * kGolden;
  for (Conversation& conversation : workload.conversations) {
    for (Turn& turn : conversation.turns) {
      for (Message& message : turn.messages) {
        for (Segment& segment : message.segments) segment.key ^= mask;
      }
    }
  }
}

}  // namespace banyan::loadtest
