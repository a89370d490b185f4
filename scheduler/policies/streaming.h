// Attention sinks and a recent window: generation goes on for ever in constant memory. Xiao, Tian,
// Chen, Han, Lewis: "Efficient Streaming Language Models with Attention Sinks", ICLR 2024,
// https://arxiv.org/abs/2309.17453
//
//   S sinks, window W, a token at position q:
//
//     q < S + W     sees all keys, as without a policy: so many tokens are exact
//     q >= S + W    sees the keys 0 .. S - 1 and q - W + 1 .. q
//
//   pages of 4, S = 4, W = 6, 17 tokens computed: the next one sees 0 .. 3 and 12 .. 17
//
//     | 0 1 2 3 | 4 5 6 7 | 8 9 . . | 12 13 14 15 | 16 . . . |
//       front    \___ unseen ____/
//
// What a token sees is a function of its position alone. So its KV is the same however the request
// was cut into steps, and when it is computed again after a preemption.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "scheduler/policies/policy.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

class Streaming final : public Policy {
 public:
  static absl::Status Check(const KvPolicy& policy, const Options& options,
                            const radix::Options& cache);
  Streaming(const KvPolicy& policy, std::int32_t page_size, std::int32_t max_batch_tokens);

  KvPolicy::Type type() const override { return KvPolicy::Type::kStreaming; }
  bool is_endless() const override { return true; }
  std::optional<std::int64_t> max_output(std::int64_t, const radix::Options&) const override {
    return std::nullopt;
  }
  std::int64_t exact_tokens(std::int64_t) const override { return window_.capacity(); }
  std::int64_t max_chunk(std::int64_t) const override { return max_chunk_; }
  kernels::KeyWindow window() const override { return window_; }
  Unseen unseen(std::int64_t tokens) const override;
  std::int64_t max_own_pages() const override;
  std::int64_t dropped_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const override;

 private:
  const kernels::KeyWindow window_;
  const std::int64_t page_size_;
  const std::int64_t max_chunk_;
  const std::int64_t front_;  // pages that hold the sinks
};

}  // namespace banyan::scheduler
