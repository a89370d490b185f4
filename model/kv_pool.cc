#include "model/kv_pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace banyan::model {
namespace {

absl::Status CheckRange(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (low <= value && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", value, "; ", low, " to ", high, " is allowed"));
}

}  // namespace

absl::Status CheckOptions(const Options& options) {
  absl::Status status = CheckRange("threads", options.threads, 1, kMaxThreads);
  status.Update(CheckRange("page size", options.page_size, kMinPageSize, kMaxPageSize));
  status.Update(CheckRange("KV memory", options.kv_memory, 0, std::int64_t{1} << 50));
  status.Update(CheckRange("batch tokens", options.max_batch_tokens, 1, kMaxBatchTokens));
  return status;
}

std::int32_t PagesThatFit(std::int64_t kv_memory, std::int64_t page_bytes) {
  return static_cast<std::int32_t>(
      std::clamp(kv_memory / page_bytes, std::int64_t{1}, std::int64_t{kMaxPages}));
}

}  // namespace banyan::model
