// A model that reads one text, a run of tokens at a time, into pages of its own.
//
// Under a policy it is read as the scheduler would have it computed: the text's first tokens are
// the prompt of a request, all others its answer.
//
// Thread safety: none; it is used by one thread, and so is its model meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "base/page_gap.h"
#include "model/batch.h"
#include "model/model.h"
#include "scheduler/policies/policy.h"

namespace banyan::server {

// A model as it is loaded for an evaluation.
struct EvaluatedModel {
  model::Model& model;
  std::int32_t page_size = 0;
  std::int32_t max_batch_tokens = 0;
  // What texts are read with. Then every layer of the model sees all.
  std::optional<scheduler::KvPolicy> policy{};
};

// Pages that hold tokens, as if tokens came one at a time: what a chunk would hide is counted.
struct PageUse {
  std::int64_t tokens = 0;      // that were read
  std::int64_t peak_pages = 0;  // the most that were held
  // Sums over all moments: the slots of the pages held, and those in which there is a token.
  std::int64_t slots_over_time = 0;
  std::int64_t tokens_over_time = 0;
};

// The most pages that a Reading holds of a text of so many tokens, whatever of it is its prompt.
std::int64_t MostPages(const std::optional<scheduler::KvPolicy>& policy, std::int64_t tokens,
                       std::int64_t page_size);

class Reading {
 public:
  // The pages are the pool's first: a Reading writes over those of the one before on the same
  // model, which outlives it. Pages of which no later token sees a key are given up.
  Reading(const EvaluatedModel& subject, std::int64_t prompt_tokens);

  // The next tokens of the text, at least one, at most the model's max_batch_tokens and no more
  // than its pool has room for. Errors are the model's.
  absl::Status Read(std::span<const TokenId> tokens, Logits wanted);

  // Of the last Read. kReturnAll: [tokens, vocabulary].
  std::span<const float> logits() const { return logits_; }
  // kSampleLast and kReturnAll: the likeliest token after it.
  TokenId greedy() const { return result_.sequences.front().token; }

  const PageUse& use() const { return use_; }

 private:
  std::optional<kernels::KeepRule> Compaction() const;
  std::int64_t NextSlot() const;
  std::int64_t MostTokens() const;
  absl::Status Step(std::span<const TokenId> tokens, Logits wanted);
  std::int64_t PagesAt(std::int64_t slot) const;
  void Drop();
  void Hold(std::int64_t slots);
  void GiveUp(std::span<const PageId> pages);
  void Count(std::int64_t slot, std::int64_t tokens);

  model::Model& model_;
  const std::int64_t page_size_;
  const std::int64_t prompt_tokens_;
  const std::unique_ptr<const scheduler::Policy> policy_;  // null: everything is kept
  std::vector<PageId> pages_;                              // without those that were given up
  std::vector<PageId> free_;                               // those
  PageGap gap_;
  std::int64_t slots_ = 0;  // that hold tokens; fewer than were read once it was compacted
  PageId unused_ = 0;       // from here on pages were never held
  PageUse use_;
  StepResult result_;
  std::vector<float> logits_;
};

}  // namespace banyan::server
