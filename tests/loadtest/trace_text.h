// Traces written out in tests, and what is expected of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loadtest/workload/trace_stream.h"
#include "tests/loadtest/memory_source.h"

namespace banyan::loadtest {

inline absl::StatusOr<Workload> ReadText(std::string_view text, const TraceOptions& options = {}) {
  MemorySource source(text);
  return ReadTraceStream(source, "trace", options);
}

// The message of the error; "" when there is none.
inline std::string FaultOf(std::string_view text, const TraceOptions& options = {}) {
  const absl::StatusOr<Workload> workload = ReadText(text, options);
  if (workload.ok()) return "";
  return std::string(workload.status().message());
}

inline constexpr TraceOptions kSkipBadLines{.bad_lines = TraceOptions::BadLines::kSkip};

inline Tick Milliseconds(std::int64_t n) { return std::chrono::milliseconds(n); }

}  // namespace banyan::loadtest
