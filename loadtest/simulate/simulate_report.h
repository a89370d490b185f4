// What was simulated, for people and for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loadtest/simulate/simulate.h"

namespace banyan::loadtest {

struct SimulateReport {
  std::string source;  // of the workload
  bool serial = false;
  CostModel cost;  // unless serial
  Slo slo;
  std::int64_t kv_bytes_per_token = 0;  // 0: not known, and no pool is told in GiB
  std::vector<SimulatedRow> rows;
};

// Rows that differ in nothing but their pool.
struct PoolCurve {
  std::string name;               // "lru, prefix": the policy, and what else tells it apart
  std::vector<std::size_t> rows;  // by pool; the unlimited one is the last
  // The smallest pool with kKneeShare of the hit rate of the last one; nullopt: of one row alone.
  std::optional<std::size_t> knee;
};
inline constexpr double kKneeShare = 0.95;
std::vector<PoolCurve> Curves(const SimulateReport& report);  // in the order of their first rows

std::string Table(const SimulateReport& report);  // for a terminal, at most 100 columns
std::string Json(const SimulateReport& report);   // docs/loadtest.md has the schema
std::string Page(const SimulateReport& report);   // one HTML file, nothing loaded from elsewhere

// "30000" or "unlimited".
std::string PoolText(std::int64_t pool_pages);
// The memory of the row's pool; nullopt: not known, or unlimited.
std::optional<double> Gib(const SimulateReport& report, const SimulatedRow& row);
// A sentence; the curve has a knee.
std::string KneeLine(const SimulateReport& report, const PoolCurve& curve);

}  // namespace banyan::loadtest
