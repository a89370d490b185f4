// Any bytes as a trace, under every format and as one to be told: refused with a message, or within
// the bounds that the rest of the load tester relies on. The first byte chooses the format, whether
// malformed lines are skipped, and in what pieces the bytes come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "loadtest/workload/trace_stream.h"
#include "loadtest/workload/transform.h"
#include "tests/loadtest/memory_source.h"

namespace {

using namespace banyan::loadtest;  // NOLINT

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireMessage(const Message& message) {
  Require(message.text.empty() != message.segments.empty());
  for (const Segment& segment : message.segments) Require(segment.tokens >= 1);
}

void RequireConversation(const Conversation& conversation) {
  Require(!conversation.id.empty() && !conversation.turns.empty());
  banyan::Tick last(0);
  for (const Turn& turn : conversation.turns) {
    Require(turn.number >= 1 && turn.output_tokens >= 0 && turn.think >= banyan::Tick(0));
    Require(!turn.messages.empty() && turn.messages.back().role == Role::kUser);
    for (const Message& message : turn.messages) RequireMessage(message);
    if (!turn.at.has_value()) continue;
    Require(conversation.turns.front().at.has_value() && *turn.at >= last);
    last = *turn.at;
  }
}

void RequireOrder(const Workload& workload) {
  banyan::Tick last(0);
  for (const Conversation& conversation : workload.conversations) {
    RequireConversation(conversation);
    const std::optional<banyan::Tick> at = conversation.turns.front().at;
    Require(at.has_value() == workload.conversations.front().turns.front().at.has_value());
    if (!at.has_value()) continue;
    Require(*at >= last);
    last = *at;
  }
}

// What a server of 64 tokens could be asked.
void RequireFit(Workload workload) {
  if (!Apply({.lengths = 0.5, .max_prompt_tokens = 64, .max_output_tokens = 8}, workload).ok()) {
    return;
  }
  for (const Conversation& conversation : workload.conversations) {
    std::int64_t tokens = 0;
    for (const Turn& turn : conversation.turns) {
      for (const Message& message : turn.messages) {
        for (const Segment& segment : message.segments) tokens += segment.tokens;
      }
      Require(tokens <= 64 && turn.output_tokens >= 1 && turn.output_tokens <= 8);
      tokens += turn.output_tokens;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int choice = data[0];
  TraceOptions options;
  options.format = static_cast<TraceFormat>(choice & 7);
  if ((choice & 8) != 0) options.bad_lines = TraceOptions::BadLines::kSkip;
  options.max_requests = (choice & 16) != 0 ? 3 : 0;
  MemorySource bytes({reinterpret_cast<const char*>(data) + 1, size - 1}, (choice & 32) ? 7 : 4096);
  const absl::StatusOr<Workload> workload = ReadTraceStream(bytes, "fuzz", options);
  if (!workload.ok()) {
    Require(absl::IsInvalidArgument(workload.status()) && !workload.status().message().empty());
    return 0;
  }
  Require(!workload->conversations.empty());
  Require(options.max_requests == 0 || CountTurns(*workload) <= options.max_requests);
  RequireOrder(*workload);
  RequireFit(*workload);
  return 0;
}
