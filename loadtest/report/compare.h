// Two runs of the same workload, as ratios.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/report/report.h"

namespace banyan::loadtest {

// b over a, with the 95% interval of the percentile bootstrap (Efron 1979): conversations are drawn
// again with replacement, not requests, because turns of one are not independent; for rates slices
// of the measured time, because all conversations together always make the same number of answers.
// Runs of the same workload draw the same ones, so that what differs between these does not count
// as difference between the runs. How a run would differ from itself another day is not in it.
struct Ratio {
  enum class Unit : std::uint8_t { kSeconds, kRate, kShare };

  std::string name;  // "TTFT p50", "requests/s"
  Unit unit = Unit::kSeconds;
  double a = 0, b = 0;  // NaN: no such value
  // NaN where it cannot be told: a is 0; no interval where a run has less than two conversations or
  // nothing by request is known.
  double ratio = 0, low = 0, high = 0;
  bool more_is_better = false;

  // Whether the interval is on one side of 1.
  bool clear() const { return low > 1 || high < 1; }
  bool better() const { return clear() && (ratio > 1) == more_is_better; }
};

inline constexpr int kDraws = 2000;

// Goodput is by a's limits, else b's.
std::vector<Ratio> Compare(const Report& a, const Report& b, std::uint64_t seed,
                           int draws = kDraws);

// What a reader has to know before comparing: facts that should be equal and are not.
std::vector<std::string> Differences(const Report& a, const Report& b);

std::string CompareTable(const Report& a, const Report& b, const std::vector<Ratio>& ratios);
std::string CompareJson(const Report& a, const Report& b, const std::vector<Ratio>& ratios);
std::string ComparePage(const Report& a, const Report& b, const std::vector<Ratio>& ratios);

}  // namespace banyan::loadtest
