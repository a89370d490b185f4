#include "scheduler/policies/policy.h"

#include "base/check.h"
#include "scheduler/policies/h2o.h"
#include "scheduler/policies/quest.h"
#include "scheduler/policies/scissorhands.h"
#include "scheduler/policies/snapkv.h"
#include "scheduler/policies/streaming.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

absl::Status CheckPolicy(const Options& options, const radix::Options& cache,
                         const KvPolicy& policy) {
  switch (policy.type) {
    case KvPolicy::Type::kStreaming:
      return Streaming::Check(policy, options, cache);
    case KvPolicy::Type::kH2o:
      return H2o::Check(policy, options, cache);
    case KvPolicy::Type::kScissorhands:
      return Scissorhands::Check(policy, options, cache);
    case KvPolicy::Type::kSnapKv:
      return SnapKv::Check(policy, options, cache);
    case KvPolicy::Type::kQuest:
      return Quest::Check(policy, options, cache);
  }
  CHECK(false);
}

std::unique_ptr<const Policy> MakePolicy(const KvPolicy& policy, std::int32_t page_size,
                                         std::int32_t max_batch_tokens) {
  switch (policy.type) {
    case KvPolicy::Type::kStreaming:
      return std::make_unique<Streaming>(policy, page_size, max_batch_tokens);
    case KvPolicy::Type::kH2o:
      return std::make_unique<H2o>(policy, page_size);
    case KvPolicy::Type::kScissorhands:
      return std::make_unique<Scissorhands>(policy, page_size);
    case KvPolicy::Type::kSnapKv:
      return std::make_unique<SnapKv>(policy, page_size);
    case KvPolicy::Type::kQuest:
      return std::make_unique<Quest>(policy, page_size);
  }
  CHECK(false);
}

}  // namespace banyan::scheduler
