#include "tests/sim/slot_model.h"

#include <algorithm>

#include "tests/sim/trace.h"

namespace banyan::sim {

SlotModel::SlotModel(std::int32_t page_size, std::int32_t pages, std::int32_t open_pages)
    : page_size_(page_size),
      pages_(pages),
      open_pages_(open_pages),
      slots_(static_cast<std::size_t>(page_size) * static_cast<std::size_t>(pages + open_pages)) {}

void SlotModel::Poison(PageId page) {
  std::fill_n(slots_.begin() + std::int64_t{page} * page_size_, page_size_, Slot{});
}

void SlotModel::Save(const Batch& batch) {
  for (const std::int32_t place : batch.forgets) aside_.erase(place);
  for (const PageMove& save : batch.saves) {
    const auto page = slots_.begin() + std::int64_t{save.page} * page_size_;
    aside_[save.place] = {page, page + page_size_};
  }
}

void SlotModel::Prepare(const Batch& batch) {
  for (const PageMove& restore : batch.restores) {
    const auto found = aside_.find(restore.place);
    Require(found != aside_.end(), "page %d comes back from place %d, where nothing is", kNobody,
            restore.page, restore.place);
    std::copy(found->second.begin(), found->second.end(),
              slots_.begin() + std::int64_t{restore.page} * page_size_);
    aside_.erase(found);
  }
  for (const PageCopy& copy : batch.copies) {
    Poison(copy.to);
    std::copy_n(slots_.begin() + std::int64_t{copy.from} * page_size_, copy.slots,
                slots_.begin() + std::int64_t{copy.to} * page_size_);
  }
  for (const kernels::KvCompaction& compaction : batch.compactions) Compact(compaction);
}

void SlotModel::Compact(const kernels::KvCompaction& compaction) {
  Notes& notes = observers_[compaction.observer];
  Require(notes.slots() == compaction.slots, "%d slots are compacted, and %d were observed",
          kNobody, compaction.slots, notes.slots());
  std::vector<Slot> survivors;
  for (const std::int64_t slot : notes.Keep(compaction.keep))
    survivors.push_back(At(compaction.from, slot));
  for (const PageId page : compaction.to) Poison(page);
  for (std::size_t i = 0; i < survivors.size(); ++i)
    slots_[Index(compaction.to, static_cast<std::int64_t>(i), {})] = survivors[i];
}

// As kernels/kv_compaction.h wants it.
void SlotModel::Observe(const Sequence& sequence, std::int64_t slot) {
  const kernels::Observation& seen = sequence.observation;
  const std::int64_t position = slot + sequence.compacted;
  if (!seen.is_made() || position < seen.from) return;
  Notes& notes = observers_[seen.observer];
  if (position == seen.from) notes.Begin(seen.by, slot);
  Require(notes.slots() == slot, "is observed in slot %d by one who saw %d", sequence.request, slot,
          notes.slots());
  notes.Add([&](std::int64_t i) { return At(sequence.pages, i, sequence.gap); });
}

std::size_t SlotModel::Index(const Sequence& sequence, std::int64_t slot,
                             std::int64_t slots) const {
  if (open_pages_ > 0 && slot / page_size_ == (slots - 1) / page_size_) {
    return OpenIndex(sequence.open_page, slot);
  }
  return Index(sequence.pages, slot, sequence.gap);
}

// From the open page to the one that the table names.
void SlotModel::Seal(const Sequence& sequence, std::int64_t page) {
  for (std::int64_t p = page * page_size_; p < (page + 1) * page_size_; ++p) {
    slots_[Index(sequence.pages, p, sequence.gap)] = slots_[OpenIndex(sequence.open_page, p)];
  }
}

void SlotModel::Write(const Sequence& sequence, Realm realm) {
  std::int64_t slot = sequence.first_slot();
  for (const TokenId token : sequence.tokens) {
    // A page that is begun holds nothing of whoever had it before.
    if (slot % page_size_ == 0) {
      Poison(sequence.pages[sequence.gap.place(slot / page_size_)]);
      if (open_pages_ > 0) Poison(pages_ + sequence.open_page);
    }
    const auto slot_at = [&](std::int64_t s) { return slots_[Index(sequence, s, slot + 1)]; };
    slots_[Index(sequence, slot, slot + 1)] =
        NextSlot(slot_at, realm, token, slot + sequence.compacted, sequence.window,
                 sequence.compacted, sequence.choice);
    Observe(sequence, slot);
    ++slot;
    if (open_pages_ > 0 && slot % page_size_ == 0) Seal(sequence, slot / page_size_ - 1);
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
  const std::int64_t first = sequence.first_slot();
  const std::int64_t end = first + static_cast<std::int64_t>(sequence.tokens.size());
  const auto slot_at = [&](std::int64_t s) { return slots_[Index(sequence, s, end)]; };
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
  for (const PageMove& save : batch.saves) aside_.erase(save.place);
  for (const PageMove& restore : batch.restores) {
    aside_.erase(restore.place);
    Poison(restore.page);
  }
  for (const PageCopy& copy : batch.copies) Poison(copy.to);
  for (const kernels::KvCompaction& compaction : batch.compactions) {
    for (const PageId page : compaction.to) Poison(page);
    observers_.erase(compaction.observer);
  }
  for (const Sequence& sequence : batch.sequences) {
    observers_.erase(sequence.observation.observer);
    const auto tokens = static_cast<std::int64_t>(sequence.tokens.size());
    for (std::int64_t i = 0; i < tokens; ++i) {
      const std::int64_t slot = sequence.first_slot() + i;
      slots_[Index(sequence.pages, slot, sequence.gap)] = Slot{};
      slots_[Index(sequence, slot, slot + 1)] = Slot{};
    }
    computed_ += tokens;
  }
  StepResult result;
  result.step = batch.step;
  result.failed = true;
  return result;
}

std::int64_t SlotModel::FirstWrong(std::span<const PageId> pages, std::span<const Slot> slots,
                                   PageGap gap, std::int32_t open_page) const {
  const std::int64_t whole = static_cast<std::int64_t>(slots.size()) / page_size_;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto slot = static_cast<std::int64_t>(i);
    const std::int64_t page = slot / page_size_;
    if (page >= gap.front && page < gap.front + gap.dropped) continue;
    const bool is_open = open_pages_ > 0 && page == whole;
    const std::size_t at = is_open ? OpenIndex(open_page, slot) : Index(pages, slot, gap);
    if (slots_[at] != slots[i]) return slot;
  }
  return -1;
}

}  // namespace banyan::sim
