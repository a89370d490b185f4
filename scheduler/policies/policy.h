// What a request keeps of its KV and what its tokens see, where that is not everything: the one
// interface of bounded-memory policies. An implementation is a file beside this one.
//
//   tokens     |========= exact =========|-------------- behind them --------------|
//   pages      | shared: matched,        | the request's own. Those that nothing   |
//              | published, followed     | sees any more are dropped after a step  |
//
// A policy is a view. The KV of the exact tokens is what it would be without a policy, so that it
// may come from the tree and go there. What lies behind has seen less than everything and is never
// found by anybody. The scheduler knows counts only: which keys a token sees is the model's.
#pragma once

#include <cstdint>
#include <memory>

#include "model/batch.h"
#include "scheduler/kv_policy.h"

namespace banyan::scheduler {

class Policy {
 public:
  virtual ~Policy() = default;

  virtual KvPolicy::Type type() const = 0;
  // Leading tokens that are exact; never fewer later. No step computes tokens of both kinds.
  virtual std::int64_t exact_tokens(std::int64_t prompt_tokens) const = 0;
  // Tokens behind them that one step computes at most; >= 1.
  virtual std::int64_t max_chunk() const = 0;
  // What the model is told.
  virtual kernels::KeyWindow window() const = 0;
  // With `tokens` tokens computed no later one sees a key of pages number front .. until - 1 (none,
  // where until <= front), and the last one is not in them. `front` is always the same, `until`
  // never falls.
  struct Unseen {
    std::int64_t front = 0;
    std::int64_t until = 0;
  };
  virtual Unseen unseen(std::int64_t tokens) const = 0;
  // A view whose unseen pages are dropped after each step never names more pages than these behind
  // the whole pages of its exact tokens.
  virtual std::int64_t max_own_pages() const = 0;
  // Of so many tokens computed, how many the last one did not see.
  virtual std::int64_t dropped_tokens(std::int64_t tokens) const = 0;
};

// `policy` passes CheckPolicy (scheduler.h).
std::unique_ptr<const Policy> MakePolicy(const KvPolicy& policy, std::int32_t page_size,
                                         std::int32_t max_batch_tokens);

}  // namespace banyan::scheduler
