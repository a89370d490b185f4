#include "model/kv_pool.h"

#include <algorithm>
#include <string>

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
  status.Update(CheckRange("sequences", options.max_sequences, 1, kMaxBatchTokens));
  status.Update(CheckRange("batch tokens", options.max_batch_tokens, 1, kMaxBatchTokens));
  return status;
}

absl::Status CheckFormat(const kernels::KvShape& shape) {
  const std::string name(kernels::LayoutOf(shape.format).name);
  const std::int32_t dims = kernels::HeadDimUnit(shape.format);
  const std::int32_t tokens = kernels::PageSizeUnit(shape.format);
  if (shape.head_dim % dims != 0) {
    return absl::UnimplementedError(absl::StrCat("pages in ", name, " take heads of a multiple of ",
                                                 dims, " numbers, and these have ",
                                                 shape.head_dim));
  }
  if (shape.page_size % tokens != 0) {
    return absl::InvalidArgumentError(absl::StrCat("pages in ", name, " are of a multiple of ",
                                                   tokens, " tokens, and the page size is ",
                                                   shape.page_size));
  }
  return absl::OkStatus();
}

std::int32_t PagesThatFit(std::int64_t kv_memory, std::int64_t page_bytes) {
  return static_cast<std::int32_t>(
      std::clamp(kv_memory / page_bytes, std::int64_t{1}, std::int64_t{kMaxPages}));
}

}  // namespace banyan::model
