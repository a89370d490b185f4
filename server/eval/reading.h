// A model that reads one text, a run of tokens at a time, into pages of its own.
//
// Thread safety: none; it is used by one thread, and so is its model meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "base/page_gap.h"
#include "kernels/key_window.h"
#include "model/batch.h"
#include "model/model.h"

namespace banyan::server {

// Pages that hold tokens, as if tokens came one at a time: what a chunk would hide is counted.
struct PageUse {
  std::int64_t tokens = 0;      // that were read
  std::int64_t peak_pages = 0;  // the most that were held
  // Sums over all moments: the slots of the pages held, and those in which there is a token.
  std::int64_t slots_over_time = 0;
  std::int64_t tokens_over_time = 0;
};

class Reading {
 public:
  // The pages are the pool's first: a Reading writes over those of the one before on the same
  // `model`, which outlives it. `page_size`: the model's. Pages of which no later token sees a key
  // through `window` are given up; where it is bounded, every layer of the model sees all.
  Reading(model::Model& model, std::int32_t page_size, kernels::KeyWindow window = {})
      : model_(model), page_size_(page_size), window_(window) {}

  // The next tokens of the text, at least one, at most the model's max_batch_tokens and no more
  // than its pool has room for. Errors are the model's.
  absl::Status Read(std::span<const TokenId> tokens, Logits wanted);

  // Of the last Read. kReturnAll: [tokens, vocabulary].
  std::span<const float> logits() const { return result_.sequences.front().logits; }
  // kSampleLast and kReturnAll: the likeliest token after it.
  TokenId greedy() const { return result_.sequences.front().token; }

  const PageUse& use() const { return use_; }

 private:
  std::int64_t FrontPages() const;
  std::int64_t PagesAt(std::int64_t position) const;
  void Drop();
  void Hold(std::int64_t tokens);
  void Count(std::int64_t tokens);

  model::Model& model_;
  const std::int32_t page_size_;
  const kernels::KeyWindow window_;
  std::vector<PageId> pages_;  // without those that were given up
  std::vector<PageId> free_;   // those
  PageGap gap_;
  PageId unused_ = 0;  // from here on pages were never held
  PageUse use_;
  StepResult result_;
};

}  // namespace banyan::server
