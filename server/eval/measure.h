// One configuration measured: quality beside the exact one, pages, and speed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "server/eval/comparison.h"
#include "server/eval/reading.h"
#include "server/eval/windows.h"

namespace banyan::server {

struct TextResult {
  Quality quality;
  std::int64_t peak_pages = 0;  // that held tokens of a window at once
  double page_fill = 0;  // the share of their slots in which there was a token, over all moments
};

// Told what is done, and how much of it: (3, 10) is three windows of ten.
using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

// Reads each window with both, side by side, so that the logits of a chunk are all that is kept of
// them. `exact` and `other` are different models. Under a policy that chooses of a prompt, once,
// the first half of a window is that prompt; under others a window is the answer to its first
// token. Errors are the models'.
absl::StatusOr<TextResult> CompareOverText(std::span<const Window> windows, EvaluatedModel exact,
                                           EvaluatedModel other, const Progress& progress);

struct DecodeSpeed {
  double tokens_per_second = 0;  // of the median step
  std::int64_t context = 0;      // tokens before the last step
  std::int64_t steps = 0;
};

// Reads most of `window` (at least two tokens) and then the rest of it token by token, as one
// request alone would be answered.
absl::StatusOr<DecodeSpeed> MeasureDecode(const Window& window, EvaluatedModel subject);

// Reads `tokens` in chunks and no logits but those after the last one.
absl::Status ReadPrompt(std::span<const TokenId> tokens, std::int32_t chunk, Reading& reading);

}  // namespace banyan::server
