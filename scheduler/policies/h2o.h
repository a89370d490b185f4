// Heavy hitters and a recent window: of the budget one part is the last tokens, the other those to
// which all tokens so far paid the most attention in sum. Zhang, Sheng, Zhou, Chen, Zheng, Cai,
// Song, Tian, Re, Barrett, Wang, Chen: "H2O: Heavy-Hitter Oracle for Efficient Generative Inference
// of Large Language Models", NeurIPS 2023, https://arxiv.org/abs/2306.14048
//
// Of a prompt the last `observe` tokens pay, not all: so the others may come from the cache, and an
// answer does not depend on whether they did. Tokens are given up a page at a time.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "scheduler/policies/rolling.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

class H2o final : public Rolling {
 public:
  static absl::Status Check(const KvPolicy& policy, const Options& options,
                            const radix::Options& cache);
  H2o(const KvPolicy& policy, std::int32_t page_size);

  KvPolicy::Type type() const override { return KvPolicy::Type::kH2o; }
};

}  // namespace banyan::scheduler
