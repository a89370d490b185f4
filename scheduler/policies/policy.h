// What a request keeps of its KV and what its tokens see, where that is not everything: the one
// interface of bounded-memory policies. An implementation is a file beside this one.
//
//   tokens     |========= exact =========|-------------- behind them --------------|
//   pages      | shared: matched,        | the request's own. Those that nothing   |
//              | published, followed     | sees any more are dropped after a step  |
//
//   or, where a page is too coarse, compacted: copied, token by token and head by head, to private
//   pages, where a slot is no position (kernels/kv_compaction.h)
//
// A policy is a view. The KV of the exact tokens is what it would be without a policy, so that it
// may come from the tree and go there. What lies behind has seen less than everything and is never
// found by anybody. The scheduler knows counts only: which keys a token sees is the model's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "model/batch.h"
#include "radix/prefix_cache.h"
#include "scheduler/kv_policy.h"

namespace banyan::scheduler {

class Policy {
 public:
  virtual ~Policy() = default;

  virtual KvPolicy::Type type() const = 0;

  // Whether neither context nor pool bounds the tokens of a request, kMaxPolicyTokens alone does.
  virtual bool is_endless() const { return false; }
  // The most tokens of an answer for which that pool has room; nullopt: it has room for any.
  virtual std::optional<std::int64_t> max_output(std::int64_t prompt_tokens,
                                                 const radix::Options& pool) const = 0;
  // Leading tokens that are exact; never fewer later. No step computes tokens of both kinds.
  virtual std::int64_t exact_tokens(std::int64_t prompt_tokens) const = 0;
  // Of them, those that may come from the cache: the others are observed.
  virtual std::int64_t max_cached(std::int64_t prompt_tokens) const {
    return exact_tokens(prompt_tokens);
  }
  // Tokens behind them that one step computes at most, where so many slots are valid; >= 1.
  virtual std::int64_t max_chunk(std::int64_t slots) const = 0;
  // What the model is told.
  virtual kernels::KeyWindow window() const { return {}; }
  // The same, of tokens behind the exact ones.
  virtual kernels::PageChoice choice() const { return {}; }
  // How tokens from `first` on are observed, if they are.
  struct Observed {
    std::int64_t from = 0;
    kernels::SlotImportance by = kernels::SlotImportance::kSum;
  };
  virtual std::optional<Observed> observed(std::int64_t /*prompt_tokens*/,
                                           std::int64_t /*first*/) const {
    return std::nullopt;
  }

  // Before the next token: a view with `tokens` tokens in `slots` slots is compacted. A function of
  // these alone, so that a request which is computed again is compacted where it was.
  virtual std::optional<kernels::KeepRule> compaction(std::int64_t /*prompt_tokens*/,
                                                      std::int64_t /*tokens*/,
                                                      std::int64_t /*slots*/) const {
    return std::nullopt;
  }
  // When a view is compacted for the first time: with so many slots; and the most that it has from
  // then on, with `known` tokens in all. Both are in pages of their own at once.
  struct Survival {
    std::int64_t before = 0;
    std::int64_t after = 0;
  };
  virtual std::optional<Survival> survival(std::int64_t /*prompt_tokens*/,
                                           std::int64_t /*known*/) const {
    return std::nullopt;
  }

  // With `tokens` tokens computed no later one sees a key of pages number front .. until - 1 (none,
  // where until <= front), and the last one is not in them. `front` is always the same, `until`
  // never falls.
  struct Unseen {
    std::int64_t front = 0;
    std::int64_t until = 0;
    std::int64_t pages() const { return std::max<std::int64_t>(until - front, 0); }
  };
  virtual Unseen unseen(std::int64_t /*tokens*/) const { return {}; }
  // A view whose unseen pages are dropped after each step never names more pages than these behind
  // the whole pages of its exact tokens.
  virtual std::int64_t max_own_pages() const = 0;
  // Of so many tokens computed, how many the last one did not see.
  virtual std::int64_t dropped_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const = 0;
  // And how many it saw and did not read, in a layer that chooses.
  virtual std::int64_t unread_tokens(std::int64_t /*prompt_tokens*/,
                                     std::int64_t /*tokens*/) const {
    return 0;
  }
};

// `policy` passes CheckPolicy (scheduler.h), which asks the static Check of its class.
std::unique_ptr<const Policy> MakePolicy(const KvPolicy& policy, std::int32_t page_size,
                                         std::int32_t max_batch_tokens);

}  // namespace banyan::scheduler
