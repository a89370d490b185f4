// Persistence of importance: what mattered to the last tokens will matter. A token is as important
// as it often had at least the mean of the attention of the last `history` tokens; the recent ones
// are kept, and the others are given up in bulk. Liu, Desai, Liao, Wang, Xie, Xu, Kyrillidis,
// Shrivastava: "Scissorhands: Exploiting the Persistence of Importance Hypothesis for LLM KV Cache
// Compression at Test Time", NeurIPS 2023, https://arxiv.org/abs/2305.17118
//
// The paper gives up half of a full buffer; here it is a quarter of the budget, or a page, over it,
// so that the budget is what survives with every type.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "scheduler/policies/rolling.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

class Scissorhands final : public Rolling {
 public:
  static absl::Status Check(const KvPolicy& policy, const Options& options,
                            const radix::Options& cache);
  Scissorhands(const KvPolicy& policy, std::int32_t page_size);

  KvPolicy::Type type() const override { return KvPolicy::Type::kScissorhands; }
};

}  // namespace banyan::scheduler
