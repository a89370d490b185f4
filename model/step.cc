#include "model/step.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::model {
namespace {

bool IsBelow(std::int32_t value, std::int32_t bound) { return 0 <= value && value < bound; }

bool AreBelow(std::span<const std::int32_t> values, std::int32_t bound) {
  return std::all_of(values.begin(), values.end(),
                     [&](std::int32_t value) { return IsBelow(value, bound); });
}

// What the sequence asks for, beyond its tokens.
void CheckAnswer(const Sequence& sequence, std::int32_t vocabulary_size) {
  CHECK(sequence.scored.size() <= sequence.tokens.size());
  CHECK(AreBelow(sequence.scored, vocabulary_size));
  CHECK(0 <= sequence.top_logprobs && sequence.top_logprobs <= kMaxTopLogprobs);
  CHECK(sequence.wants_logprob || sequence.top_logprobs == 0);
  if (sequence.logits == Logits::kNone) return;
  const std::int64_t before =
      sequence.first_position + static_cast<std::int64_t>(sequence.tokens.size());
  const auto context = static_cast<std::int64_t>(sequence.context.size());
  CHECK(context == (sequence.sampling.penalizes() ? before : 0));
  CHECK(0 <= sequence.prompt_tokens && sequence.prompt_tokens <= before);
  CHECK(AreBelow(sequence.context, vocabulary_size));
  CHECK(std::all_of(sequence.logit_bias.begin(), sequence.logit_bias.end(),
                    [&](const TokenBias& bias) { return IsBelow(bias.token, vocabulary_size); }));
}

// That it has no window that the model cannot have, and a slot for each token and each key that one
// sees.
void CheckPages(const Sequence& sequence, const StepLimits& limits) {
  const kernels::KeyWindow& window = sequence.window;
  CHECK(0 <= window.window && (limits.windows || !window.is_bounded()));
  CHECK(0 <= window.sinks && window.sinks <= kernels::KeyWindow::kMaxSinks);
  CHECK(window.sinks == 0 || window.is_bounded());
  CHECK(AreBelow(sequence.pages, limits.pages));
  CHECK(sequence.compacted == 0 ||
        (0 < sequence.compacted && sequence.compacted < sequence.first_position));
  const PageGap gap = sequence.gap;
  const std::int64_t page_size = limits.page_size;
  const std::int64_t first = sequence.first_slot();
  const std::int64_t slots =
      (static_cast<std::int64_t>(sequence.pages.size()) + gap.dropped) * page_size;
  CHECK(0 <= first && first < slots);
  CHECK(static_cast<std::int64_t>(sequence.tokens.size()) <= slots - first);
  if (gap.dropped == 0) return;
  const std::int64_t behind = (gap.front + gap.dropped) * page_size;
  CHECK(0 <= gap.front && 0 < gap.dropped && window.cuts(first));
  CHECK(window.sinks <= gap.front * page_size);
  CHECK(behind <= window.first_key(first) && behind < first);
}

// Slots that are no positions, or who looks at them: for sequences that see all slots.
void CheckObserved(const Sequence& sequence, const StepLimits& limits) {
  const kernels::Observation& seen = sequence.observation;
  if (sequence.compacted == 0 && !seen.is_made()) return;
  CHECK(limits.compacts && !sequence.window.is_bounded() && sequence.gap.dropped == 0);
  if (!seen.is_made()) return;
  CHECK(IsBelow(seen.observer, kernels::Observation::kMaxObservers) && 0 <= seen.from);
}

void CheckChoice(const Sequence& sequence, const StepLimits& limits) {
  const kernels::PageChoice& choice = sequence.choice;
  CHECK(0 <= choice.pages && 0 <= choice.dense_layers &&
        choice.dense_layers <= kernels::PageChoice::kMaxDenseLayers);
  if (!choice.is_made()) return;
  CHECK(limits.compacts && !sequence.window.is_bounded() && sequence.compacted == 0);
  CHECK(!sequence.observation.is_made());
}

void CheckCompaction(const kernels::KvCompaction& compaction, const StepLimits& limits) {
  CHECK(limits.compacts && compaction.keep.is_sound());
  CHECK(IsBelow(compaction.observer, kernels::Observation::kMaxObservers));
  CHECK(AreBelow(compaction.from, limits.pages) && AreBelow(compaction.to, limits.pages));
  const auto covers = [&](std::span<const PageId> table, std::int64_t slots) {
    return slots <= static_cast<std::int64_t>(table.size()) * limits.page_size;
  };
  CHECK(1 <= compaction.slots && covers(compaction.from, compaction.slots));
  CHECK(covers(compaction.to, compaction.keep.kept(compaction.slots)));
}

}  // namespace

void Step::Lay(const Batch& batch, const StepLimits& limits) {
  open_taken_.assign(static_cast<std::size_t>(limits.open_pages), false);
  CHECK(limits.open_pages == 0 || batch.copies.empty());
  tokens_.clear();
  runs_.clear();
  logit_rows_.clear();
  LayCopies(batch, limits);
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) Add(batch.sequences[i], i, limits);
}

void Step::LayCopies(const Batch& batch, const StepLimits& limits) {
  for (const std::vector<PageMove>* moves : {&batch.saves, &batch.restores}) {
    for (const PageMove& move : *moves) CHECK(IsBelow(move.page, limits.pages));
  }
  copies_.clear();
  for (const PageCopy& copy : batch.copies) {
    CHECK(IsBelow(copy.from, limits.pages) && IsBelow(copy.to, limits.pages));
    CHECK(copy.from != copy.to);
    CHECK(1 <= copy.slots && copy.slots <= limits.page_size);
    copies_.push_back({copy.from, copy.to, copy.slots});
  }
  for (const kernels::KvCompaction& compaction : batch.compactions)
    CheckCompaction(compaction, limits);
  compactions_ = batch.compactions;
}

void Step::Add(const Sequence& sequence, std::size_t index, const StepLimits& limits) {
  const std::size_t count = sequence.tokens.size();
  const std::size_t capacity = static_cast<std::size_t>(limits.max_rows) - tokens_.size();
  CHECK(1 <= count && count <= capacity);
  CheckPages(sequence, limits);
  if (limits.open_pages > 0) {
    CHECK(IsBelow(sequence.open_page, limits.open_pages));
    const auto open = static_cast<std::size_t>(sequence.open_page);
    CHECK(!open_taken_[open]);
    open_taken_[open] = true;
  }
  CheckObserved(sequence, limits);
  CheckChoice(sequence, limits);
  CHECK(AreBelow(sequence.tokens, limits.vocabulary_size));
  CheckAnswer(sequence, limits.vocabulary_size);

  const std::int32_t first_row = rows();
  runs_.push_back({.first_row = first_row,
                   .rows = static_cast<std::int32_t>(count),
                   .first_position = sequence.first_position,
                   .pages = sequence.pages,
                   .window = sequence.window,
                   .front_pages = sequence.gap.front,
                   .dropped_pages = sequence.gap.dropped,
                   .open_page = sequence.open_page,
                   .compacted = sequence.compacted,
                   .observation = sequence.observation,
                   .choice = sequence.choice});
  tokens_.insert(tokens_.end(), sequence.tokens.begin(), sequence.tokens.end());
  for (std::size_t token = 0; token < count; ++token) {
    const bool wanted = sequence.logits == Logits::kReturnAll || token < sequence.scored.size() ||
                        (sequence.logits == Logits::kSampleLast && token + 1 == count);
    if (wanted) logit_rows_.push_back({first_row + static_cast<std::int32_t>(token), index, token});
  }
}

}  // namespace banyan::model
