// Which tokens a context has, and how often the answer has each: what penalties go by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kernels/sampling.h"

namespace banyan::model {

// Its member is scratch memory. One thread at a time.
class TokenUses {
 public:
  explicit TokenUses(std::int32_t vocabulary_size);

  // Appends each token of `context` once, by its first use. O(context).
  void Count(std::span<const TokenId> context, std::size_t prompt_tokens,
             std::vector<kernels::TokenUse>& uses);

 private:
  // Per token: 0 when the context does not have it, else 1 + its place in `uses`. All 0 between
  // calls: only what was counted is cleared.
  std::vector<std::size_t> places_;
};

}  // namespace banyan::model
