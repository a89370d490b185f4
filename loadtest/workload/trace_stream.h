// ReadTrace, of bytes that lie anywhere.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "loadtest/workload/bytes.h"
#include "loadtest/workload/trace.h"

namespace banyan::loadtest {

// More malformed lines than this are a file of another format: kInvalidArgument.
inline constexpr std::size_t kMaxBadLines = 10'000;

// `name` stands for the bytes in messages and in Workload::source.
absl::StatusOr<Workload> ReadTraceStream(ByteSource& bytes, const std::string& name,
                                         const TraceOptions& options);

}  // namespace banyan::loadtest
