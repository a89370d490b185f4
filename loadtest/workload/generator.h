// Makes a workload out of distributions: tenants, each with personas (system prompts), each with
// conversations of turns. The same seed gives the same workload on every machine.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

// Log-normal, by the median and the sigma of its logarithm; cut to [1, 32 x median].
struct LengthDistribution {
  double median = 100;  // tokens, >= 1
  double sigma = 0;     // >= 0; 0: always the median
};

struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::int32_t tenants = 1;
  std::int32_t personas = 4;  // of each tenant
  std::int32_t conversations = 100;
  std::int32_t turns = 5;  // of each conversation, mean; geometric when turns_vary
  bool turns_vary = false;
  double zipf = 1.0;  // popularity of tenants and of their personas: 1 / rank^zipf; >= 0
  std::int32_t shared_tokens = 64;  // that begin every prompt of all tenants
  LengthDistribution persona{400, 0};
  LengthDistribution question{40, 0.6};
  LengthDistribution answer{64, 0.6};
  Tick think{0};  // mean, exponential; 0: none
};

// kInvalidArgument for parameters out of bounds.
absl::StatusOr<Workload> Generate(const GeneratorOptions& options);

}  // namespace banyan::loadtest
