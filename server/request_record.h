// The account of one request, made once when its answer has ended: counters, histograms, log line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/token_stream.h"
#include "server/metrics.h"
#include "server/retry_after.h"

namespace banyan::server {

struct RequestRecord {
  std::string id;  // as the client saw it
  scheduler::FinishReason reason = scheduler::FinishReason::kNone;
  scheduler::Usage usage;  // output_tokens as the client was told
};

// "stop", "length", "cancelled", "slow_reader", "failed", "refused", "shutdown".
std::string_view FinishName(scheduler::FinishReason reason);

// The page pool was too small for this one answer: with a larger one it would have gone on.
bool PoolEnded(const RequestRecord& record);

// Thread-safe.
void Account(const RequestRecord& record, Metrics& metrics, RetryAfter& retry_after);

}  // namespace banyan::server
