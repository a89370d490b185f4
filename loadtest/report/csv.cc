#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

// Quoted where RFC 4180 wants it.
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return ToValidUtf8(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return ToValidUtf8(quoted + "\"");
}

// Milliseconds, exact to the nanosecond.
std::string Ms(std::optional<Tick> time) {
  if (!time) return "";
  return absl::StrFormat("%.6f", static_cast<double>(time->count()) / 1e6);
}

std::string Known(std::int64_t count) { return count < 0 ? "" : absl::StrCat(count); }

}  // namespace

std::string Csv(const Result& result) {
  std::string text =
      "conversation,turn,warm_up,outcome,status,scheduled_ms,sent_ms,first_content_ms,"
      "last_content_ms,end_ms,client_delay_ms,ttft_ms,ttft_scheduled_ms,tpot_ms,latency_ms,"
      "content_events,wanted_prompt_tokens,prompt_tokens,cached_tokens,output_tokens,"
      "finish_reason,error\r\n";
  for (const Record& record : result.records) {
    const bool ok = record.outcome == Outcome::kOk && record.first_content;
    const std::optional<Tick> none;
    absl::StrAppend(
        &text, record.conversation, ",", record.turn, ",", result.Measured(record) ? 0 : 1, ",",
        std::string(Name(record.outcome)), ",",
        record.status == 0 ? "" : absl::StrCat(record.status), ",", Ms(record.scheduled), ",",
        Ms(record.was_sent() ? std::optional(record.sent) : none), ",", Ms(record.first_content),
        ",", Ms(record.first_content ? std::optional(record.last_content) : none), ",");
    absl::StrAppend(&text, Ms(record.end), ",", Ms(record.client_delay), ",",
                    Ms(ok ? std::optional(record.ttft()) : none), ",",
                    Ms(ok ? std::optional(record.ttft_scheduled()) : none), ",",
                    Ms(ok ? record.tpot() : none), ",",
                    Ms(ok ? std::optional(record.latency()) : none), ",");
    absl::StrAppend(
        &text, record.content_events, ",",
        record.wanted_prompt_tokens > 0 ? absl::StrCat(record.wanted_prompt_tokens) : std::string(),
        ",", Known(record.prompt_tokens), ",", Known(record.cached_tokens), ",",
        Known(record.output_tokens), ",", Field(record.finish_reason), ",", Field(record.error),
        "\r\n");
  }
  return text;
}

}  // namespace banyan::loadtest
