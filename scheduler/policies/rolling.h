// What H2O and Scissorhands have in common: the prompt is exact; from then on whenever a view has
// `limit` slots, `budget` of them survive.
//
//   budget 8, limit 12, a prompt of 20 tokens
//
//     tokens   20   21   22 .. 24   25   26 ..
//     slots    20 8> 9   10    12 8> 9   10        8>: compacted before the next token
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/policies/policy.h"

namespace banyan::scheduler {

class Rolling : public Policy {
 public:
  std::optional<std::int64_t> max_output(std::int64_t, const radix::Options&) const override {
    return std::nullopt;
  }
  std::int64_t exact_tokens(std::int64_t prompt_tokens) const override { return prompt_tokens; }
  std::int64_t max_cached(std::int64_t prompt_tokens) const override;
  std::int64_t max_chunk(std::int64_t slots) const override { return limit_ - slots; }
  std::optional<Observed> observed(std::int64_t prompt_tokens, std::int64_t first) const override;
  std::optional<kernels::KeepRule> compaction(std::int64_t prompt_tokens, std::int64_t tokens,
                                              std::int64_t slots) const override;
  std::optional<Survival> survival(std::int64_t prompt_tokens, std::int64_t known) const override;
  std::int64_t max_own_pages() const override;
  std::int64_t dropped_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const override;

 protected:
  // Compacted when so many slots over the budget of `keep` are there, at least 1; the last
  // `observe` tokens of a prompt are observed, and all behind it.
  Rolling(const kernels::KeepRule& keep, kernels::SlotImportance by, std::int64_t bulk,
          std::int64_t observe, std::int32_t page_size);

 private:
  const kernels::KeepRule keep_;
  const kernels::SlotImportance by_;
  const std::int64_t limit_;
  const std::int64_t observe_;
  const std::int32_t page_size_;
};

}  // namespace banyan::scheduler
