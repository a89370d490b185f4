#include "scheduler/policies/quest.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {

Quest::Quest(const KvPolicy& policy, std::int32_t page_size)
    : choice_{.pages = policy.budget / page_size, .dense_layers = policy.dense_layers},
      page_size_(page_size) {
  CHECK(choice_.is_made());
}

std::int64_t Quest::unread_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const {
  if (tokens <= prompt_tokens) return 0;
  const std::int64_t pages = PagesFor(tokens, static_cast<std::int32_t>(page_size_));
  return std::max<std::int64_t>(pages - choice_.pages, 0) * page_size_;
}

}  // namespace banyan::scheduler
