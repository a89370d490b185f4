#include "tests/scheduler/fake_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tests/scheduler/seen.h"

namespace banyan::scheduler {
namespace {

// splitmix64, https://prng.di.unimi.it/splitmix64.c
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

TokenId Draw(std::uint64_t sum, std::span<const TokenId> forbidden) {
  auto token = static_cast<TokenId>(sum % FakeModel::kVocabulary);
  while (std::find(forbidden.begin(), forbidden.end(), token) != forbidden.end()) {
    token = (token + 1) % FakeModel::kVocabulary;
  }
  return token;
}

// Not the logarithm of anything, but another number for every path and token.
float LogProbability(std::uint64_t sum, TokenId token) {
  return -static_cast<float>(Mix(sum ^ static_cast<std::uint64_t>(token)) % 1'000'000);
}

std::vector<TokenLogprob> Top(std::uint64_t sum, std::int32_t count) {
  std::vector<TokenLogprob> top;
  for (std::int32_t i = 0; i < count; ++i) {
    const TokenId token = Draw(sum + static_cast<std::uint64_t>(i), {});
    top.push_back({token, LogProbability(sum, token)});
  }
  return top;
}

ScoredToken Score(std::uint64_t sum, TokenId token, std::int32_t top) {
  return {token, LogProbability(sum, token), Top(sum, top)};
}

}  // namespace

FakeModel::FakeModel(std::int32_t page_size, std::int32_t pages, std::int32_t open_pages)
    : page_size_(page_size),
      pages_(pages),
      open_pages_(open_pages),
      slots_(static_cast<std::size_t>(page_size) * static_cast<std::size_t>(pages + open_pages)) {}

FakeModel::Slot FakeModel::After(const Slot* before, TokenId token, std::int64_t position) {
  const std::uint64_t path = before == nullptr ? 1 : before->path;
  return {token, position, Mix(path ^ Mix(static_cast<std::uint64_t>(token)))};
}

std::uint64_t FakeModel::Attend(std::uint64_t sum, const Slot& slot) {
  return Mix(sum ^ Mix(slot.path ^ Mix(static_cast<std::uint64_t>(slot.token) ^
                                       Mix(static_cast<std::uint64_t>(slot.position)))));
}

template <class SlotAt>
std::uint64_t FakeModel::Sum(SlotAt slot_at, std::int64_t position, std::int64_t last,
                             kernels::KeyWindow window) {
  const auto attend = [&](std::uint64_t sum, std::int64_t p) { return Attend(sum, slot_at(p)); };
  return SumSeen(attend, position, last, window);
}

template <class SlotAt>
FakeModel::Slot FakeModel::Next(SlotAt slot_at, TokenId token, std::int64_t position,
                                kernels::KeyWindow window, std::int64_t compacted,
                                const kernels::PageChoice& choice) {
  if (!window.cuts(position) && compacted == 0) {
    if (position == 0) return Choosing(After(nullptr, token, position), choice);
    const Slot before = slot_at(position - 1);
    return Choosing(After(&before, token, position), choice);
  }
  const std::int64_t slot = position - compacted;
  const std::uint64_t seen = Sum(slot_at, slot, slot - 1, window);
  return {token, position, Mix(~seen ^ Mix(static_cast<std::uint64_t>(token)))};
}

FakeModel::Slot FakeModel::Choosing(Slot slot, const kernels::PageChoice& choice) {
  const auto layers = static_cast<std::uint64_t>(choice.dense_layers);
  if (choice.is_made())
    slot.path = Mix(slot.path ^ Mix(static_cast<std::uint64_t>(choice.pages) << 32 | layers));
  return slot;
}

std::vector<FakeModel::Slot> FakeModel::Survivors(const std::vector<Slot>& slots,
                                                  const kernels::KeepRule& keep) {
  EXPECT_TRUE(keep.is_sound());
  const auto recent = static_cast<std::ptrdiff_t>(keep.recent);
  const auto budget = static_cast<std::size_t>(keep.kept(std::ssize(slots)));
  std::vector<Slot> kept(slots.begin(), slots.end() - recent);
  std::sort(kept.begin(), kept.end(),
            [](const Slot& a, const Slot& b) { return Mix(a.path) > Mix(b.path); });
  kept.resize(budget - static_cast<std::size_t>(recent));
  std::sort(kept.begin(), kept.end(),
            [](const Slot& a, const Slot& b) { return a.position < b.position; });
  kept.insert(kept.end(), slots.end() - recent, slots.end());
  return kept;
}

std::size_t FakeModel::Index(std::span<const PageId> pages, std::int64_t slot, PageGap gap) const {
  const PageId page = pages[gap.place(slot / page_size_)];
  return static_cast<std::size_t>(std::int64_t{page} * page_size_ + slot % page_size_);
}

std::size_t FakeModel::Index(const Sequence& sequence, std::int64_t slot,
                             std::int64_t slots) const {
  const std::int64_t own = (slots - 1) / page_size_;
  if (open_pages_ == 0 || slot / page_size_ != own)
    return Index(sequence.pages, slot, sequence.gap);
  const std::int64_t page = std::int64_t{pages_} + sequence.open_page;
  return static_cast<std::size_t>(page * page_size_ + slot % page_size_);
}

// From the open page to the one that the table names.
void FakeModel::Seal(const Sequence& sequence, std::int64_t page) {
  const std::int64_t first = page * page_size_;
  for (std::int64_t p = first; p < first + page_size_; ++p) {
    slots_[Index(sequence.pages, p, sequence.gap)] = slots_[Index(sequence, p, p + 1)];
  }
}

void FakeModel::Write(const Sequence& sequence) {
  std::int64_t slot = sequence.first_slot();
  for (const TokenId token : sequence.tokens) {
    if (slot % page_size_ == 0) {
      Poison(sequence.pages[sequence.gap.place(slot / page_size_)]);
      if (open_pages_ > 0) Poison(pages_ + sequence.open_page);
    }
    const auto slot_at = [&](std::int64_t s) { return slots_[Index(sequence, s, slot + 1)]; };
    slots_[Index(sequence, slot, slot + 1)] =
        Next(slot_at, token, slot + sequence.compacted, sequence.window, sequence.compacted,
             sequence.choice);
    ++slot;
    if (open_pages_ > 0 && slot % page_size_ == 0) Seal(sequence, slot / page_size_ - 1);
  }
}

void FakeModel::Poison(PageId page) {
  std::fill_n(slots_.begin() + std::int64_t{page} * page_size_, page_size_, Slot{});
}

void FakeModel::Move(const Batch& batch) {
  for (const std::int32_t place : batch.forgets) aside_.erase(place);
  for (const PageMove& save : batch.saves) {
    const auto page = slots_.begin() + std::int64_t{save.page} * page_size_;
    aside_[save.place] = {page, page + page_size_};
  }
  for (const PageMove& restore : batch.restores) {
    ASSERT_TRUE(aside_.contains(restore.place)) << "nothing is in place " << restore.place;
    std::copy_n(aside_[restore.place].begin(), page_size_,
                slots_.begin() + std::int64_t{restore.page} * page_size_);
    aside_.erase(restore.place);
  }
}

void FakeModel::Copy(const Batch& batch) {
  for (const PageCopy& copy : batch.copies) {
    Poison(copy.to);
    std::copy_n(slots_.begin() + std::int64_t{copy.from} * page_size_, copy.slots,
                slots_.begin() + std::int64_t{copy.to} * page_size_);
  }
}

void FakeModel::Compact(const Batch& batch) {
  for (const kernels::KvCompaction& compaction : batch.compactions) {
    std::vector<Slot> slots;
    for (std::int64_t i = 0; i < compaction.slots; ++i)
      slots.push_back(slots_[Index(compaction.from, i)]);
    EXPECT_EQ(observed_[compaction.observer], compaction.slots) << "not all were observed";
    const std::vector<Slot> kept = Survivors(slots, compaction.keep);
    for (const PageId page : compaction.to) Poison(page);
    for (std::size_t i = 0; i < kept.size(); ++i)
      slots_[Index(compaction.to, static_cast<std::int64_t>(i))] = kept[i];
    observed_[compaction.observer] = std::ssize(kept);
  }
}

// As kernels/kv_compaction.h wants it.
void FakeModel::Observe(const Sequence& sequence) {
  const kernels::Observation& seen = sequence.observation;
  const std::int64_t end = sequence.first_slot() + std::ssize(sequence.tokens);
  if (!seen.is_made() || end + sequence.compacted <= seen.from) return;
  const std::int64_t first = std::max(sequence.first_position, seen.from);
  if (first == seen.from) observed_[seen.observer] = first - sequence.compacted;
  EXPECT_EQ(observed_[seen.observer], first - sequence.compacted) << "each token is observed once";
  observed_[seen.observer] = end;
}

StepResult FakeModel::Forward(const Batch& batch) {
  CheckBatch(batch);
  Move(batch);
  Copy(batch);
  Compact(batch);
  StepResult result;
  result.step = batch.step;
  for (const Sequence& sequence : batch.sequences) {
    Observe(sequence);
    Write(sequence);
    computed_ += static_cast<std::int64_t>(sequence.tokens.size());
  }
  for (const Sequence& sequence : batch.sequences)
    Answer(sequence, result.sequences.emplace_back());
  return result;
}

void FakeModel::Answer(const Sequence& sequence, SequenceResult& answer) const {
  if (sequence.logits == Logits::kNone && sequence.scored.empty()) return;
  const std::int64_t first = sequence.first_slot();
  const auto tokens = static_cast<std::int64_t>(sequence.tokens.size());
  const auto slot_at = [&](std::int64_t s) { return slots_[Index(sequence, s, first + tokens)]; };
  for (std::size_t i = 0; i < sequence.scored.size(); ++i) {
    const std::int64_t position = first + static_cast<std::int64_t>(i);
    answer.scores.push_back(Score(Sum(slot_at, position, position, sequence.window),
                                  sequence.scored[i], sequence.top_logprobs));
  }
  if (sequence.logits == Logits::kNone) return;
  const std::int64_t last = first + tokens - 1;
  const std::uint64_t sum = Sum(slot_at, last, last, sequence.window);
  answer.token = Draw(sum, sequence.forbidden);
  answer.log_probability = LogProbability(sum, answer.token);
  answer.top = Top(sum, sequence.top_logprobs);
}

StepResult FakeModel::Fail(const Batch& batch) {
  CheckBatch(batch);
  for (const std::int32_t place : batch.forgets) aside_.erase(place);
  for (const PageMove& save : batch.saves) aside_.erase(save.place);
  for (const PageCopy& copy : batch.copies) Poison(copy.to);
  for (const Sequence& sequence : batch.sequences) {
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

std::uint64_t FakeModel::SumOf(std::span<const TokenId> path, kernels::KeyWindow window) {
  std::vector<Slot> slots;
  const auto slot_at = [&](std::int64_t p) { return slots[static_cast<std::size_t>(p)]; };
  for (const TokenId token : path) {
    slots.push_back(Next(slot_at, token, static_cast<std::int64_t>(slots.size()), window));
  }
  const auto last = static_cast<std::int64_t>(path.size()) - 1;
  return Sum(slot_at, last, last, window);
}

std::vector<TokenId> FakeModel::TokensKept(std::vector<TokenId> prompt, std::int64_t count,
                                           const Policy& policy) {
  std::vector<TokenId> path = std::move(prompt);
  const std::int64_t prompt_tokens = std::ssize(path);
  std::vector<Slot> slots;
  const auto slot_at = [&](std::int64_t s) { return slots[static_cast<std::size_t>(s)]; };
  for (std::int64_t position = 0; std::ssize(path) < prompt_tokens + count; ++position) {
    if (const auto keep = policy.compaction(prompt_tokens, position, std::ssize(slots)))
      slots = Survivors(slots, *keep);
    const std::int64_t slot = std::ssize(slots);
    const bool is_exact = position < policy.exact_tokens(prompt_tokens);
    slots.push_back(Next(slot_at, path[static_cast<std::size_t>(position)], position, {},
                         position - slot, is_exact ? kernels::PageChoice{} : policy.choice()));
    if (position + 1 == std::ssize(path)) path.push_back(Draw(Sum(slot_at, slot, slot, {}), {}));
  }
  return {path.begin() + prompt_tokens, path.end()};
}

TokenId FakeModel::TokenAfter(std::span<const TokenId> path, std::span<const TokenId> forbidden,
                              kernels::KeyWindow window) {
  return Draw(SumOf(path, window), forbidden);
}

ScoredToken FakeModel::ScoreAfter(std::span<const TokenId> path, TokenId token, std::int32_t top,
                                  kernels::KeyWindow window) {
  return Score(SumOf(path, window), token, top);
}

bool FakeModel::Holds(std::span<const PageId> pages, std::span<const TokenId> path) const {
  Slot want;
  for (std::size_t p = 0; p < path.size(); ++p) {
    const auto position = static_cast<std::int64_t>(p);
    want = After(p == 0 ? nullptr : &want, path[p], position);
    const Slot& slot = slots_[Index(pages, position)];
    if (slot.token != want.token || slot.position != want.position || slot.path != want.path) {
      return false;
    }
  }
  return true;
}

void FakeModel::CheckBatch(const Batch& batch) const {
  EXPECT_FALSE(batch.sequences.empty() && batch.forgets.empty());
  EXPECT_TRUE(open_pages_ == 0 || batch.copies.empty()) << "of what nothing has yet";
  std::set<RequestId> requests;
  std::set<std::int32_t> open_pages;
  std::map<PageId, std::int64_t> written;  // the first slot that is
  for (const PageCopy& copy : batch.copies) {
    EXPECT_GE(copy.slots, 1);
    EXPECT_LT(copy.slots, page_size_);
    EXPECT_TRUE(written.emplace(copy.to, 0).second) << "two copies into one page";
  }
  for (const Sequence& sequence : batch.sequences) {
    EXPECT_TRUE(requests.insert(sequence.request).second) << "a request twice in one step";
    ASSERT_FALSE(sequence.tokens.empty());
    EXPECT_TRUE(open_pages.insert(sequence.open_page).second) << "an open page of two";
    ASSERT_GE(sequence.open_page, 0);
    ASSERT_TRUE(open_pages_ == 0 || sequence.open_page < open_pages_);
    const std::int64_t first = sequence.first_slot();
    const std::int64_t end = first + static_cast<std::int64_t>(sequence.tokens.size());
    const auto pages = static_cast<std::int64_t>(sequence.pages.size()) + sequence.gap.dropped;
    ASSERT_LE(end, pages * page_size_);
    CheckGap(sequence);
    for (const PageId page : sequence.pages) ASSERT_TRUE(page >= 0 && page < pages_);
    for (std::int64_t p = first / page_size_; p * page_size_ < end; ++p) {
      written.emplace(sequence.pages[sequence.gap.place(p)],
                      std::max<std::int64_t>(first - p * page_size_, 0));
    }
  }
  for (const kernels::KvCompaction& compaction : batch.compactions)
    for (const PageId page : compaction.to) written[page] = 0;
  // A page that is written in this step belongs to one request; another may copy from it what was
  // written before.
  for (const PageCopy& copy : batch.copies) {
    const auto page = written.find(copy.from);
    EXPECT_TRUE(page == written.end() || page->second >= copy.slots);
  }
  std::set<PageId> seen;
  for (const Sequence& sequence : batch.sequences) {
    for (const PageId page : sequence.pages) {
      if (written.contains(page)) {
        EXPECT_TRUE(seen.insert(page).second) << "page " << page;
      }
    }
  }
}

// Nothing that is dropped is seen, and a step has tokens of one kind.
void FakeModel::CheckGap(const Sequence& sequence) const {
  const std::int64_t first = sequence.first_position;
  const std::int64_t last = first + static_cast<std::int64_t>(sequence.tokens.size()) - 1;
  EXPECT_EQ(sequence.window.cuts(first), sequence.window.cuts(last)) << "exact and not, at once";
  if (sequence.gap.dropped == 0) return;
  const PageGap& gap = sequence.gap;
  EXPECT_LE(sequence.window.sinks, gap.front * page_size_) << "sinks were dropped";
  EXPECT_LE((gap.front + gap.dropped) * page_size_, sequence.window.first_key(first));
  EXPECT_LT((gap.front + gap.dropped) * page_size_, first) << "the token before was dropped";
}

}  // namespace banyan::scheduler
