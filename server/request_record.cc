#include "server/request_record.h"

#include "base/check.h"
#include "server/logging.h"

namespace banyan::server {
namespace {

using scheduler::FinishReason;

Counter CounterOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return Counter::kRequestsStop;
    case FinishReason::kLength:
      return Counter::kRequestsLength;
    case FinishReason::kCancelled:
      return Counter::kRequestsCancelled;
    case FinishReason::kSlowReader:
      return Counter::kRequestsSlowReader;
    case FinishReason::kFailed:
      return Counter::kRequestsFailed;
    case FinishReason::kRefused:
      return Counter::kRequestsRefused;
    case FinishReason::kShutdown:
    case FinishReason::kNone:
      return Counter::kRequestsShutdown;
  }
  return Counter::kRequestsShutdown;
}

double Milliseconds(Tick tick) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::duration_cast<std::chrono::microseconds>(tick))
      .count();
}

}  // namespace

std::string_view FinishName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kSlowReader:
      return "slow_reader";
    case FinishReason::kFailed:
      return "failed";
    case FinishReason::kRefused:
      return "refused";
    case FinishReason::kShutdown:
    case FinishReason::kNone:
      return "shutdown";
  }
  return "shutdown";
}

bool PoolEnded(const RequestRecord& record) {
  return record.reason == FinishReason::kLength &&
         record.usage.limit == scheduler::LengthLimit::kPool;
}

void Account(const RequestRecord& record, Metrics& metrics, RetryAfter& retry_after) {
  const scheduler::Usage& usage = record.usage;
  const bool complete =
      record.reason == FinishReason::kStop || record.reason == FinishReason::kLength;
  metrics.Add(CounterOf(record.reason));
  metrics.Add(Counter::kGeneratedTokens, static_cast<double>(usage.output_tokens));
  if (complete) {
    // Only whole answers: a cancelled one would make latencies look better than they are.
    metrics.Observe(Histogram::kPrefill, Seconds(usage.prefill));
    metrics.Observe(Histogram::kDecode, Seconds(usage.decode));
    metrics.Observe(Histogram::kEndToEnd, Seconds(usage.queued + usage.prefill + usage.decode));
    retry_after.Observe(Seconds(usage.prefill + usage.decode));
  }
  Log(record.reason == FinishReason::kFailed ? Severity::kError : Severity::kInfo,
      "request finished",
      {{"id", record.id},
       {"finish_reason", FinishName(record.reason)},
       {"prompt_tokens", usage.prompt_tokens},
       {"cached_tokens", usage.cached_tokens},
       {"output_tokens", usage.output_tokens},
       {"queue_ms", Milliseconds(usage.queued)},
       {"prefill_ms", Milliseconds(usage.prefill)},
       {"decode_ms", Milliseconds(usage.decode)},
       {"preemptions", usage.preemptions}});
  if (PoolEnded(record)) {
    Log(Severity::kWarning, "answer cut off: it alone filled the whole page pool",
        {{"id", record.id},
         {"prompt_tokens", usage.prompt_tokens},
         {"output_tokens", usage.output_tokens}});
  }
}

}  // namespace banyan::server
