// A batch as rows, and what a batch may not name.
#include "model/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::model {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr StepLimits kLimits{.max_rows = 8, .vocabulary_size = 100, .page_size = 4, .pages = 10};

const std::vector<TokenId> kFive = {1, 2, 3, 4, 5};
const std::vector<PageId> kTwoPages = {7, 3};

Sequence RunOf(std::span<const TokenId> tokens, std::int64_t first, Logits logits) {
  return {.tokens = tokens,
          .first_position = first,
          .pages = kTwoPages,
          .logits = logits,
          .sampling = {}};
}

Batch Of(Sequence sequence) {
  Batch batch;
  batch.sequences.push_back(sequence);
  return batch;
}

TEST(Step, LaysSequencesOneAfterAnother) {
  Batch batch;
  batch.copies.push_back({.from = 2, .to = 7, .slots = 4});
  batch.sequences.push_back(RunOf(std::span(kFive).first(2), 6, Logits::kNone));
  batch.sequences.push_back(RunOf(kFive, 0, Logits::kReturnAll));
  batch.sequences.push_back(RunOf(std::span(kFive).first(1), 7, Logits::kSampleLast));
  Step step;
  for (int again = 0; again < 2; ++again) {
    step.Lay(batch, kLimits);
    EXPECT_THAT(step.tokens(), ElementsAre(1, 2, 1, 2, 3, 4, 5, 1));
    ASSERT_EQ(step.runs().size(), 3);
    EXPECT_EQ(step.runs()[1].first_row, 2);
    EXPECT_EQ(step.runs()[1].rows, 5);
    EXPECT_EQ(step.runs()[2].first_position, 7);
    EXPECT_THAT(step.runs()[2].pages, ElementsAreArray(kTwoPages));
    ASSERT_EQ(step.copies().size(), 1);
    EXPECT_EQ(step.copies()[0].slots, 4);
    std::vector<std::int32_t> rows;
    for (const LogitRow& wanted : step.logit_rows()) rows.push_back(wanted.row);
    EXPECT_THAT(rows, ElementsAre(2, 3, 4, 5, 6, 7));
    EXPECT_EQ(step.logit_rows()[1].sequence, 1);
    EXPECT_EQ(step.logit_rows()[1].token, 1);
  }
  step.Lay(Batch{}, kLimits);
  EXPECT_EQ(step.rows(), 0);
  EXPECT_THAT(step.logit_rows(), IsEmpty());
}

TEST(Step, LogitsAreWantedOfScoredTokensToo) {
  const auto rows = [](Logits logits, std::size_t scored) {
    Sequence sequence = RunOf(kFive, 0, logits);
    sequence.scored = std::span(kFive).first(scored);
    Step step;
    step.Lay(Of(sequence), kLimits);
    std::vector<std::size_t> tokens;
    for (const LogitRow& wanted : step.logit_rows()) tokens.push_back(wanted.token);
    return tokens;
  };
  EXPECT_THAT(rows(Logits::kNone, 0), IsEmpty());
  EXPECT_THAT(rows(Logits::kNone, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(rows(Logits::kNone, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(rows(Logits::kSampleLast, 0), ElementsAre(4));
  EXPECT_THAT(rows(Logits::kSampleLast, 2), ElementsAre(0, 1, 4));
  EXPECT_THAT(rows(Logits::kSampleLast, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(rows(Logits::kSampleLast, 5), ElementsAre(0, 1, 2, 3, 4)) << "once each";
  EXPECT_THAT(rows(Logits::kReturnAll, 2), ElementsAre(0, 1, 2, 3, 4));
}

TEST(StepDeathTest, WhatADrawMayNotName) {
  Step step;
  const auto dies = [&](const Sequence& sequence) {
    EXPECT_DEATH(step.Lay(Of(sequence), kLimits), "CHECK failed");
  };
  const std::vector<TokenId> six(6, 1);
  const std::vector<TokenId> wrong = {1, 2, 100, 4, 5};
  const Sequence run = RunOf(kFive, 0, Logits::kSampleLast);
  Sequence sequence = run;
  sequence.scored = six;
  dies(sequence);
  sequence.scored = wrong;
  dies(sequence);
  for (const std::int32_t top : {-1, kMaxTopLogprobs + 1}) {
    sequence = run;
    sequence.top_logprobs = top;
    dies(sequence);
  }
  for (const TokenId token : {-1, 100}) {
    const std::vector<TokenBias> bias = {{token, 1}};
    sequence = run;
    sequence.logit_bias = bias;
    dies(sequence);
  }

  Sequence penalized = run;
  penalized.sampling.presence_penalty = 1;
  dies(penalized);
  penalized.context = kFive;
  step.Lay(Of(penalized), kLimits);
  penalized.prompt_tokens = 5;
  step.Lay(Of(penalized), kLimits);
  penalized.prompt_tokens = 6;
  dies(penalized);
  penalized.prompt_tokens = 0;
  penalized.context = std::span(kFive).first(4);
  dies(penalized);
  penalized.context = wrong;
  dies(penalized);
  penalized.context = kFive;
  penalized.sampling = run.sampling;  // nothing reads it
  dies(penalized);
}

constexpr StepLimits kWindows{.max_rows = 8,
                              .vocabulary_size = 100,
                              .page_size = 4,
                              .pages = 10,
                              .windows = true,
                              .compacts = true};

// Position 21 sees keys 0, 1 and 16 and on, in pages 0, 4 and 5 of the view.
Sequence Windowed(std::span<const PageId> pages) {
  Sequence sequence = RunOf(std::span(kFive).first(3), 21, Logits::kNone);
  sequence.pages = pages;
  sequence.gap = {.front = 1, .dropped = 3};
  sequence.window = {.window = 6, .sinks = 2};
  return sequence;
}

TEST(Step, WindowsAndGapsReachTheRuns) {
  const std::vector<PageId> pages = {7, 3, 1};
  Step step;
  step.Lay(Of(Windowed(pages)), kWindows);
  const kernels::RowRun& run = step.runs()[0];
  EXPECT_EQ(run.window.window, 6);
  EXPECT_EQ(run.window.sinks, 2);
  EXPECT_EQ(run.page(0), 7);
  EXPECT_EQ(run.page(4), 3);
  EXPECT_EQ(run.page(5), 1);
}

TEST(StepDeathTest, WhatAWindowMayNotBe) {
  const std::vector<PageId> pages = {7, 3, 1, 2};
  Step step;
  const auto dies = [&](const auto& change) {
    Sequence sequence = Windowed(pages);
    change(sequence);
    EXPECT_DEATH(step.Lay(Of(sequence), kWindows), "CHECK failed");
  };
  EXPECT_DEATH(step.Lay(Of(Windowed(pages)), kLimits), "CHECK failed") << "of this model";
  dies([](Sequence& s) { s.window.window = -1; });
  dies([](Sequence& s) { s.window.sinks = -1; });
  dies([](Sequence& s) { s.window.sinks = kernels::KeyWindow::kMaxSinks + 1; });
  dies([](Sequence& s) { s.window.window = 0; });
  dies([](Sequence& s) { s.window = {}; });
  // A key that is seen is in the gap: of the window, of the sinks.
  dies([](Sequence& s) { s.window.window = 7; });
  dies([](Sequence& s) { s.window.sinks = 5; });
  dies([](Sequence& s) { s.gap.dropped = 4; });
  dies([](Sequence& s) { s.gap.front = 0; });
  dies([](Sequence& s) { s.gap = {.front = -1, .dropped = 5}; });
  dies([](Sequence& s) { s.gap.dropped = -1; });
  dies([](Sequence& s) { s.pages = s.pages.first(2); });
  // The token before is in the gap, though no key that is seen.
  const auto last = [&](std::int64_t first) {
    Sequence sequence = Windowed(pages);
    sequence.tokens = std::span(kFive).first(1);
    sequence.first_position = first;
    sequence.window = {.window = 1};
    return Of(sequence);
  };
  step.Lay(last(17), kWindows);
  EXPECT_DEATH(step.Lay(last(16), kWindows), "CHECK failed");
}

TEST(StepDeathTest, OpenPagesAreOfOneSequenceEach) {
  constexpr StepLimits kSealed{
      .max_rows = 8, .vocabulary_size = 100, .page_size = 4, .pages = 10, .open_pages = 3};
  const auto at = [](std::int32_t open_page) {
    Sequence sequence = RunOf(std::span(kFive).first(2), 0, Logits::kNone);
    sequence.open_page = open_page;
    return sequence;
  };
  Step step;
  Batch batch = Of(at(2));
  batch.sequences.push_back(at(0));
  step.Lay(batch, kSealed);
  EXPECT_EQ(step.runs()[0].open_page, 2);
  step.Lay(batch, kSealed);
  batch.sequences.push_back(at(2));
  EXPECT_DEATH(step.Lay(batch, kSealed), "CHECK failed");
  step.Lay(batch, kLimits);  // nobody's
  for (const std::int32_t open_page : {-1, 3})
    EXPECT_DEATH(step.Lay(Of(at(open_page)), kSealed), "CHECK failed");
  Batch copies;
  copies.copies.push_back({1, 2, 3});
  EXPECT_DEATH(step.Lay(copies, kSealed), "CHECK failed") << "slots are not copied";
}

TEST(StepDeathTest, WhatABatchMayNotName) {
  Step step;
  const std::vector<TokenId> nine(9, 1);
  const std::vector<PageId> three_pages = {7, 3, 2};
  Sequence long_run = RunOf(nine, 0, Logits::kNone);
  long_run.pages = three_pages;
  EXPECT_DEATH(step.Lay(Of(long_run), kLimits), "CHECK failed");
  EXPECT_DEATH(step.Lay(Of(RunOf({}, 0, Logits::kNone)), kLimits), "CHECK failed");
  // Positions: the two pages have slots 0..7.
  step.Lay(Of(RunOf(kFive, 3, Logits::kNone)), kLimits);
  EXPECT_DEATH(step.Lay(Of(RunOf(kFive, 4, Logits::kNone)), kLimits), "CHECK failed");
  EXPECT_DEATH(step.Lay(Of(RunOf(kFive, -1, Logits::kNone)), kLimits), "CHECK failed");
  for (const TokenId token : {-1, 100}) {
    const std::vector<TokenId> tokens = {token};
    EXPECT_DEATH(step.Lay(Of(RunOf(tokens, 0, Logits::kNone)), kLimits), "CHECK failed");
  }
  for (const PageId page : {-1, 10}) {
    const std::vector<PageId> pages = {page};
    Sequence run = RunOf(std::span(kFive).first(1), 0, Logits::kNone);
    run.pages = pages;
    EXPECT_DEATH(step.Lay(Of(run), kLimits), "CHECK failed");
  }
  for (const PageCopy& copy : {PageCopy{-1, 1, 1}, PageCopy{1, 10, 1}, PageCopy{1, 1, 1},
                               PageCopy{1, 2, 0}, PageCopy{1, 2, 5}}) {
    Batch batch;
    batch.copies.push_back(copy);
    EXPECT_DEATH(step.Lay(batch, kLimits), "CHECK failed");
  }
}

// Two pages of four slots, and a token at position 105 in the last but one.
Sequence Compacted() {
  Sequence sequence = RunOf(std::span(kFive).first(2), 105, Logits::kNone);
  sequence.compacted = 99;
  sequence.observation = {.observer = 2, .from = 40};
  return sequence;
}

TEST(Step, SlotsMayBeFewerThanPositions) {
  Step step;
  step.Lay(Of(Compacted()), kWindows);
  EXPECT_EQ(step.runs()[0].first_position, 105);
  EXPECT_EQ(step.runs()[0].first_slot(), 6);
  EXPECT_EQ(step.runs()[0].observation, (kernels::Observation{.observer = 2, .from = 40}));
}

TEST(StepDeathTest, WhereSlotsAreNoPositionsAllAreSeen) {
  Step step;
  const auto dies = [&](auto change) {
    Sequence sequence = Compacted();
    change(sequence);
    EXPECT_DEATH(step.Lay(Of(sequence), kWindows), "CHECK failed");
  };
  EXPECT_DEATH(step.Lay(Of(Compacted()), kLimits), "CHECK failed") << "of this model";
  dies([](Sequence& s) { s.compacted = 98; });
  dies([](Sequence& s) { s.compacted = 105; });
  dies([](Sequence& s) { s.compacted = -1; });
  dies([](Sequence& s) { s.window = {.window = 100}; });
  dies([](Sequence& s) { s.observation.observer = kernels::Observation::kMaxObservers; });
  dies([](Sequence& s) { s.observation.observer = -2; });
  dies([](Sequence& s) { s.observation.from = -1; });
}

Sequence Choosing() {
  Sequence sequence = RunOf(std::span(kFive).first(2), 6, Logits::kNone);
  sequence.choice = {.pages = 1, .dense_layers = 2};
  return sequence;
}

TEST(Step, PagesMayBeChosen) {
  Step step;
  step.Lay(Of(Choosing()), kWindows);
  EXPECT_EQ(step.runs()[0].choice, (kernels::PageChoice{.pages = 1, .dense_layers = 2}));
}

TEST(StepDeathTest, WherePagesAreChosenAllAreSeen) {
  Step step;
  const auto dies = [&](auto change) {
    Sequence sequence = Choosing();
    change(sequence);
    EXPECT_DEATH(step.Lay(Of(sequence), kWindows), "CHECK failed");
  };
  EXPECT_DEATH(step.Lay(Of(Choosing()), kLimits), "CHECK failed") << "of this model";
  dies([](Sequence& s) { s.window = {.window = 100}; });
  dies([](Sequence& s) { s.compacted = 3; });
  dies([](Sequence& s) { s.observation = {.observer = 2, .from = 3}; });
  dies([](Sequence& s) { s.choice.pages = -1; });
  dies([](Sequence& s) { s.choice.dense_layers = -1; });
  dies([](Sequence& s) { s.choice.dense_layers = 1025; });
}

TEST(StepDeathTest, ACompactionNamesItsSlots) {
  Step step;
  const std::vector<PageId> from = {1, 2};
  const std::vector<PageId> to = {3};
  const kernels::KvCompaction good = {
      .observer = 0, .from = from, .slots = 8, .to = to, .keep = {.budget = 4}};
  const auto lay = [&](const kernels::KvCompaction& compaction, const StepLimits& limits) {
    Batch batch;
    batch.compactions.push_back(compaction);
    step.Lay(batch, limits);
    EXPECT_EQ(step.compactions().size(), 1);
  };
  lay(good, kWindows);
  EXPECT_DEATH(lay(good, kLimits), "CHECK failed") << "of this model";
  const auto dies = [&](auto change) {
    kernels::KvCompaction compaction = good;
    change(compaction);
    EXPECT_DEATH(lay(compaction, kWindows), "CHECK failed");
  };
  const std::vector<PageId> beyond = {10};
  dies([](kernels::KvCompaction& c) { c.observer = -1; });
  dies([](kernels::KvCompaction& c) { c.slots = 0; });
  dies([](kernels::KvCompaction& c) { c.slots = 9; });
  dies([](kernels::KvCompaction& c) { c.keep.budget = 5; });
  dies([](kernels::KvCompaction& c) { c.keep.recent = 5; });
  dies([&](kernels::KvCompaction& c) { c.to = beyond; });
  dies([&](kernels::KvCompaction& c) { c.from = beyond; });
}

}  // namespace
}  // namespace banyan::model
