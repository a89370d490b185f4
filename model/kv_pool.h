// What every model does with its options: checks them, and counts the pages they pay for.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/kv_shape.h"
#include "model/model.h"

namespace banyan::model {

// kInvalidArgument names the option that is out of range.
absl::Status CheckOptions(const Options& options);

// Whether pages of that format can have that shape: kUnimplemented names a head's size,
// kInvalidArgument a page size.
absl::Status CheckFormat(const kernels::KvShape& shape);

// Whole pages in `kv_memory` bytes, at least one and at most banyan::kMaxPages. Where there are
// open pages they are not in these bytes.
std::int32_t PagesThatFit(std::int64_t kv_memory, std::int64_t page_bytes);

}  // namespace banyan::model
