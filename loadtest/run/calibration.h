// What a server's steps cost, fitted to what was measured of it: the linear model of
// simulate/cost_model.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "loadtest/simulate/cost_model.h"

namespace banyan::loadtest {

inline constexpr std::array kCosts = {&CostModel::step,           &CostModel::prompt_token,
                                      &CostModel::prompt_context, &CostModel::decode_token,
                                      &CostModel::decode_context, &CostModel::request};

// A time, and how often each cost is part of it, in the order of kCosts.
struct Observation {
  std::array<double, kCosts.size()> parts{};
  double nanoseconds = 0;  // > 0
};

// From sending a prompt that no cache knows to its first token, alone on the server; a step takes
// `step_tokens` of it at most.
Observation PrefillTime(std::int64_t prompt_tokens, std::int64_t step_tokens, Tick time);

// Between two tokens, when `rows` requests decode behind `context_tokens` each.
Observation DecodeTime(std::int64_t rows, double context_tokens, Tick time);

// What the model says an observation takes.
double Predict(const CostModel& cost, const Observation& observation);

// The costs, none negative, with the least sum of squared relative errors. The best of the fits
// over every subset of the costs: with six of them that is exact.
CostModel FitCosts(const std::vector<Observation>& observations);

}  // namespace banyan::loadtest
