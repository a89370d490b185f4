#include "scheduler/policies/policy.h"

#include "base/check.h"
#include "scheduler/policies/streaming.h"

namespace banyan::scheduler {

std::unique_ptr<const Policy> MakePolicy(const KvPolicy& policy, std::int32_t page_size,
                                         std::int32_t max_batch_tokens) {
  switch (policy.type) {
    case KvPolicy::Type::kStreaming:
      return std::make_unique<Streaming>(policy, page_size, max_batch_tokens);
  }
  CHECK(false);
}

}  // namespace banyan::scheduler
