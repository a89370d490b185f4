#include "model/token_uses.h"

#include "base/check.h"

namespace banyan::model {

TokenUses::TokenUses(std::int32_t vocabulary_size)
    : places_(static_cast<std::size_t>(vocabulary_size)) {}

void TokenUses::Count(std::span<const TokenId> context, std::size_t prompt_tokens,
                      std::vector<kernels::TokenUse>& uses) {
  CHECK(prompt_tokens <= context.size());
  const std::size_t first = uses.size();
  for (std::size_t i = 0; i < context.size(); ++i) {
    const auto id = static_cast<std::size_t>(context[i]);
    CHECK(id < places_.size());
    std::size_t& place = places_[id];
    if (place == 0) {
      uses.push_back({.token = context[i]});
      place = uses.size();
    }
    if (i >= prompt_tokens) ++uses[place - 1].in_answer;
  }
  for (std::size_t i = first; i < uses.size(); ++i)
    places_[static_cast<std::size_t>(uses[i].token)] = 0;
}

}  // namespace banyan::model
