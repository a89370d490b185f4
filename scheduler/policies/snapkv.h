// What the end of a prompt looks at: the attention of its last tokens chooses, once, what each head
// keeps of it, with neighbours; the answer is kept whole. Li, Huang, Yang, Venkitesh, Locatelli,
// Ye, Cai, Lewis, Chen: "SnapKV: LLM Knows What You are Looking for Before Generation", 2024,
// https://arxiv.org/abs/2404.14469
//
// The budget counts the last tokens too. A prompt within it is kept as it is.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "scheduler/policies/policy.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

class SnapKv final : public Policy {
 public:
  static absl::Status Check(const KvPolicy& policy, const Options& options,
                            const radix::Options& cache);
  SnapKv(const KvPolicy& policy, std::int32_t page_size);

  KvPolicy::Type type() const override { return KvPolicy::Type::kSnapKv; }
  std::optional<std::int64_t> max_output(std::int64_t prompt_tokens,
                                         const radix::Options& pool) const override;
  std::int64_t exact_tokens(std::int64_t prompt_tokens) const override { return prompt_tokens; }
  std::int64_t max_cached(std::int64_t prompt_tokens) const override;
  std::int64_t max_chunk(std::int64_t) const override { return kMaxPolicyTokens; }
  std::optional<Observed> observed(std::int64_t prompt_tokens, std::int64_t first) const override;
  std::optional<kernels::KeepRule> compaction(std::int64_t prompt_tokens, std::int64_t tokens,
                                              std::int64_t slots) const override;
  std::optional<Survival> survival(std::int64_t prompt_tokens, std::int64_t known) const override;
  // Its answer has no bound.
  std::int64_t max_own_pages() const override { return kMaxPolicyTokens; }
  std::int64_t dropped_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const override;

 private:
  const kernels::KeepRule keep_;
  const std::int64_t observe_;
};

}  // namespace banyan::scheduler
