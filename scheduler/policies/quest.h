// Nothing is given up: the prompt is exact, and each token of the answer attends, in every layer
// and KV head, to so many pages only, those whose bounds of keys promise it most, the newest among
// them (kernels/page_choice.h). Tang, Zhao, Zhu, Xiao, Kasikci, Han: "Quest: Query-Aware Sparsity
// for Efficient Long-Context LLM Inference", ICML 2024, https://arxiv.org/abs/2406.10774
//
// So it bounds what a step reads, not what a request holds. The first layers, where attention is
// spread, read all. What a token reads is a function of the tokens before it: its KV is the same
// however the request was cut into steps, and when it is computed again after a preemption.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "scheduler/policies/policy.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

class Quest final : public Policy {
 public:
  static absl::Status Check(const KvPolicy& policy, const Options& options,
                            const radix::Options& cache);
  Quest(const KvPolicy& policy, std::int32_t page_size);

  KvPolicy::Type type() const override { return KvPolicy::Type::kQuest; }
  std::optional<std::int64_t> max_output(std::int64_t prompt_tokens,
                                         const radix::Options& pool) const override;
  std::int64_t exact_tokens(std::int64_t prompt_tokens) const override { return prompt_tokens; }
  std::int64_t max_chunk(std::int64_t) const override { return kMaxPolicyTokens; }
  kernels::PageChoice choice() const override { return choice_; }
  // All that it computes.
  std::int64_t max_own_pages() const override { return kMaxPolicyTokens; }
  std::int64_t dropped_tokens(std::int64_t, std::int64_t) const override { return 0; }
  std::int64_t unread_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const override;

 private:
  const kernels::PageChoice choice_;
  const std::int64_t page_size_;
};

}  // namespace banyan::scheduler
