// How long a server's steps take: a linear model, measured by `calibrate` or given as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "model/batch.h"

namespace banyan::loadtest {

// All in nanoseconds.
struct CostModel {
  double step = 0;            // of every step that runs
  double prompt_token = 0;    // for each token of a prompt that is computed
  double prompt_context = 0;  // for each of those and each token before it
  double decode_token = 0;    // for each row that decodes
  double decode_context = 0;  // for each of those and each token before it
  double request = 0;         // once per request, outside of steps: connection, parsing, tokenizing
};

Tick StepTime(const CostModel& cost, const Batch& batch);
std::string Json(const CostModel& cost);
absl::StatusOr<CostModel> ParseCostModel(std::string_view json);

}  // namespace banyan::loadtest
