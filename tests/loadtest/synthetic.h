// A run that never was, as one would look: conversations of turns whose prompts grow, answers that
// get slower as the server fills, a cache that helps later turns, a few failures.
#pragma once

#include <cstdint>
#include <optional>

#include "loadtest/report/report.h"

namespace banyan::loadtest {

struct SyntheticOptions {
  std::uint64_t seed = 1;
  std::int64_t conversations = 200;
  std::int32_t turns = 5;
  double rate = 4;        // conversations a second
  double slowness = 1;    // every time times this
  double failing = 0.01;  // part of all requests
  bool tells_usage = true;
  bool has_metrics = true;
};

Report Synthetic(const SyntheticOptions& options);

}  // namespace banyan::loadtest
