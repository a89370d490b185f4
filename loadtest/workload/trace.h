// Reads the traces and datasets of the field. docs/loadtest.md names what each format holds, where
// it is published, and what is made of its fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

enum class TraceFormat : std::uint8_t {
  kAuto,      // by the first line
  kMooncake,  // JSONL: timestamp (ms), input_length, output_length, hash_ids of 512 tokens
  kBailian,   // JSONL: chat_id, parent_chat_id, turn, timestamp (s), hash_ids of 16 tokens, not
              // chained
  kAzure,     // CSV: TIMESTAMP,ContextTokens,GeneratedTokens
  kBurstGpt,  // CSV: Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
  kShareGpt,  // JSON: [{id, conversations: [{from, value}]}]
  kWildChat,  // JSONL: {conversation: [{role, content}]}; LMSYS-Chat-1M is alike
  kAiperf,    // JSONL: {text, ...} or {session_id, turns: [...]}
};

// The name on the command line: "mooncake", "bailian", ...; kInvalidArgument for another one.
absl::StatusOr<TraceFormat> ParseTraceFormat(std::string_view name);

struct TraceOptions {
  TraceFormat format = TraceFormat::kAuto;
  // Whether a malformed line ends the reading (kInvalidArgument with its number) or is left out and
  // listed in Workload::bad_lines.
  enum class BadLines : std::uint8_t { kFatal, kSkip };
  BadLines bad_lines = BadLines::kFatal;
  std::int64_t max_requests = 0;  // the first so many of the file; 0: all
};

// `path` may be a gzip or xz archive. kNotFound, kPermissionDenied, or kInvalidArgument for what
// cannot be read; also when nothing is left of it.
absl::StatusOr<Workload> ReadTrace(const std::string& path, const TraceOptions& options);

}  // namespace banyan::loadtest
