// One configuration measured: quality beside the exact one, pages, and speed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/key_window.h"
#include "model/model.h"
#include "server/eval/comparison.h"
#include "server/eval/reading.h"
#include "server/eval/windows.h"

namespace banyan::server {

// A model as it is loaded for an evaluation.
struct EvaluatedModel {
  model::Model& model;
  std::int32_t page_size = 0;
  std::int32_t max_batch_tokens = 0;
  kernels::KeyWindow window{};  // through which texts are read
};

struct TextResult {
  Quality quality;
  std::int64_t peak_pages = 0;  // that held tokens of a window at once
  double page_fill = 0;  // the share of their slots in which there was a token, over all moments
};

// Told what is done, and how much of it: (3, 10) is three windows of ten.
using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

// Reads each window with both, side by side, so that the logits of a chunk are all that is kept of
// them. `exact` and `other` are different models. Errors are the models'.
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
