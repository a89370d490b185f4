#include "tests/sim/slot_model.h"

#include <algorithm>

namespace banyan::sim {

SlotModel::SlotModel(std::int32_t page_size, std::int32_t pages, std::int32_t open_pages)
    : page_size_(page_size),
      pages_(pages),
      open_pages_(open_pages),
      slots_(static_cast<std::size_t>(page_size) * static_cast<std::size_t>(pages + open_pages)) {}

void SlotModel::Poison(PageId page) {
  std::fill_n(slots_.begin() + std::int64_t{page} * page_size_, page_size_, Slot{});
}

void SlotModel::Copy(const Batch& batch) {
  for (const PageCopy& copy : batch.copies) {
    Poison(copy.to);
    std::copy_n(slots_.begin() + std::int64_t{copy.from} * page_size_, copy.slots,
                slots_.begin() + std::int64_t{copy.to} * page_size_);
  }
}

std::size_t SlotModel::Index(const Sequence& sequence, std::int64_t position,
                             std::int64_t tokens) const {
  if (open_pages_ > 0 && position / page_size_ == (tokens - 1) / page_size_) {
    return OpenIndex(sequence.open_page, position);
  }
  return Index(sequence.pages, position, sequence.gap);
}

// From the open page to the one that the table names.
void SlotModel::Seal(const Sequence& sequence, std::int64_t page) {
  for (std::int64_t p = page * page_size_; p < (page + 1) * page_size_; ++p) {
    slots_[Index(sequence.pages, p, sequence.gap)] = slots_[OpenIndex(sequence.open_page, p)];
  }
}

void SlotModel::Write(const Sequence& sequence, Realm realm) {
  std::int64_t position = sequence.first_position;
  for (const TokenId token : sequence.tokens) {
    // A page that is begun holds nothing of whoever had it before.
    if (position % page_size_ == 0) {
      Poison(sequence.pages[sequence.gap.place(position / page_size_)]);
      if (open_pages_ > 0) Poison(pages_ + sequence.open_page);
    }
    const auto slot_at = [&](std::int64_t p) { return slots_[Index(sequence, p, position + 1)]; };
    slots_[Index(sequence, position, position + 1)] =
        NextSlot(slot_at, realm, token, position, sequence.window);
    ++position;
    if (open_pages_ > 0 && position % page_size_ == 0) Seal(sequence, position / page_size_ - 1);
  }
  computed_ += static_cast<std::int64_t>(sequence.tokens.size());
}

StepResult SlotModel::Forward(const Batch& batch, const RealmOf& realm_of) {
  for (const Sequence& sequence : batch.sequences) Write(sequence, realm_of(sequence.request));
  StepResult result;
  result.step = batch.step;
  for (const Sequence& sequence : batch.sequences) result.sequences.push_back(Answer(sequence));
  return result;
}

SequenceResult SlotModel::Answer(const Sequence& sequence) const {
  SequenceResult answer;
  if (sequence.logits == Logits::kNone && sequence.scored.empty()) return answer;
  const std::int64_t first = sequence.first_position;
  const std::int64_t end = first + static_cast<std::int64_t>(sequence.tokens.size());
  const auto slot_at = [&](std::int64_t p) { return slots_[Index(sequence, p, end)]; };
  if (!sequence.scored.empty()) Scores(sequence, answer.scores);
  if (sequence.logits == Logits::kNone) return answer;
  const std::uint64_t sum = AttendAll(slot_at, end - 1, end - 1, sequence.window);
  ScoredToken drawn = Draw(sum, {sequence.sampling, sequence.context, sequence.prompt_tokens,
                                 sequence.logit_bias, sequence.forbidden, sequence.top_logprobs});
  answer.token = drawn.token;
  answer.log_probability = drawn.log_probability;
  answer.top = std::move(drawn.top);
  return answer;
}

// Of a prompt that is scored all is seen.
void SlotModel::Scores(const Sequence& sequence, std::vector<ScoredToken>& scores) const {
  const std::int64_t first = sequence.first_position;
  const std::int64_t scored = first + static_cast<std::int64_t>(sequence.scored.size());
  const std::int64_t end = first + static_cast<std::int64_t>(sequence.tokens.size());
  std::uint64_t sum = 0;
  for (std::int64_t p = 0; p < scored; ++p) {
    sum = Attend(sum, slots_[Index(sequence, p, end)]);
    if (p < first) continue;
    const TokenId next = sequence.scored[static_cast<std::size_t>(p - first)];
    scores.push_back(Score(sum, next, sequence.top_logprobs));
  }
}

StepResult SlotModel::Fail(const Batch& batch) {
  for (const PageCopy& copy : batch.copies) Poison(copy.to);
  for (const Sequence& sequence : batch.sequences) {
    const auto tokens = static_cast<std::int64_t>(sequence.tokens.size());
    for (std::int64_t i = 0; i < tokens; ++i) {
      const std::int64_t position = sequence.first_position + i;
      slots_[Index(sequence.pages, position, sequence.gap)] = Slot{};
      slots_[Index(sequence, position, position + 1)] = Slot{};
    }
    computed_ += tokens;
  }
  StepResult result;
  result.step = batch.step;
  result.failed = true;
  return result;
}

std::int64_t SlotModel::FirstWrong(std::span<const PageId> pages, std::span<const Slot> path,
                                   PageGap gap, std::int32_t open_page) const {
  const std::int64_t whole = static_cast<std::int64_t>(path.size()) / page_size_;
  for (std::size_t p = 0; p < path.size(); ++p) {
    const auto position = static_cast<std::int64_t>(p);
    const std::int64_t page = position / page_size_;
    if (page >= gap.front && page < gap.front + gap.dropped) continue;
    const bool is_open = open_pages_ > 0 && page == whole;
    const std::size_t at = is_open ? OpenIndex(open_page, position) : Index(pages, position, gap);
    if (slots_[at] != path[p]) return position;
  }
  return -1;
}

}  // namespace banyan::sim
