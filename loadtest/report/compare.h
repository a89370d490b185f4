// Two runs of the same workload, as ratios.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/report/report.h"

namespace banyan::loadtest {

// b over a, with the 95% interval of the percentile bootstrap (Efron 1979): requests are drawn
// again with replacement, by conversation, because turns of one are not independent.
struct Ratio {
  std::string name;  // "TTFT p50", "requests/s"
  double a = 0, b = 0;
  double ratio = 0, low = 0, high = 0;  // NaN where a is 0 or has no requests
  bool more_is_better = false;
};

std::vector<Ratio> Compare(const Report& a, const Report& b, std::uint64_t seed, int draws = 2000);
std::string CompareTable(const Report& a, const Report& b, const std::vector<Ratio>& ratios);
std::string CompareJson(const Report& a, const Report& b, const std::vector<Ratio>& ratios);
std::string ComparePage(const Report& a, const Report& b, const std::vector<Ratio>& ratios);

}  // namespace banyan::loadtest
