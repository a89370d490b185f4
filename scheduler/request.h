// A request as the scheduler sees it: ids and bounds, no text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "model/batch.h"
#include "scheduler/token_stream.h"

namespace banyan::scheduler {

struct Request {
  RequestId id{};
  std::string name_space;       // pages are shared within it only
  std::vector<TokenId> prompt;  // at least one token
  std::int64_t max_tokens = 0;  // >= 1; what the client asked, or what the context leaves
  SamplingParams sampling;
  std::vector<TokenId> end_tokens;  // sampling one ends the answer, and it is not sent
  Tick submitted{0};
  std::shared_ptr<TokenStream> stream;
};

enum class CancelReason : std::uint8_t { kClientGone, kStopString };

struct Cancellation {
  RequestId request{};
  CancelReason reason = CancelReason::kClientGone;
  // kStopString: how many tokens the answer used, cut to how many were sampled.
  std::int64_t output_tokens = 0;
};

}  // namespace banyan::scheduler
