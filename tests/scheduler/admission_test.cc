// Who is admitted, when, and with how many pages.
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

TEST(Admission, IsInOrderOfArrivalUpToMaxRunning) {
  Engine engine({.max_batch_tokens = 16, .max_running = 2});
  const RequestId a = engine.Submit(Prompt(1, 4), 3);
  const RequestId b = engine.Submit(Prompt(2, 4), 3);
  const RequestId c = engine.Submit(Prompt(3, 4), 3);
  engine.Step();
  EXPECT_TRUE(engine[a].admitted);
  EXPECT_TRUE(engine[b].admitted);
  EXPECT_FALSE(engine[c].admitted);
  EXPECT_EQ(engine.scheduler().stats().running, 2);
  EXPECT_EQ(engine.scheduler().stats().waiting, 1);
  engine.Step();
  engine.Step();
  EXPECT_TRUE(engine[a].finished());
  EXPECT_FALSE(engine[c].admitted);
  engine.Step();
  EXPECT_TRUE(engine[c].admitted);
}

// Ten pages of four slots: each prompt of 17 with 4 tokens of answer needs 20 slots, five pages.
TEST(Admission, GivesOutThePoolToTheLastPage) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  const RequestId a = engine.Submit(Prompt(1, 17), 4);
  const RequestId b = engine.Submit(Prompt(2, 17), 4);
  engine.Step();
  EXPECT_TRUE(engine[a].admitted);
  EXPECT_TRUE(engine[b].admitted);
}

TEST(Admission, WaitsForOnePageTooMany) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  const RequestId a = engine.Submit(Prompt(1, 17), 4);
  const RequestId b = engine.Submit(Prompt(2, 17), 5);  // 21 slots
  engine.Step();
  EXPECT_TRUE(engine[a].admitted);
  EXPECT_FALSE(engine[b].admitted);
  engine.Run();
  EXPECT_EQ(engine[b].tokens, Expected(Prompt(2, 17), 5).tokens);
}

TEST(Admission, PromisesPagesAndTakesThemAsTheyAreNeeded) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 8});
  engine.Submit(Prompt(1, 17), 4);  // five pages
  engine.Step();                    // 8 tokens in two pages
  EXPECT_EQ(engine.scheduler().stats().reserved_pages, 3);
  engine.Step();  // 16
  EXPECT_EQ(engine.scheduler().stats().reserved_pages, 1);
  engine.Step();  // 17
  EXPECT_EQ(engine.scheduler().stats().reserved_pages, 0);
  engine.Run();
  EXPECT_EQ(engine.scheduler().stats().reserved_pages, 0);
  EXPECT_EQ(engine.HeldPages(), 0);
}

// Nine pages are available, but five of them are promised.
TEST(Admission, LeavesAloneWhatIsPromisedToOthers) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  const RequestId a = engine.Submit(Prompt(1, 4), 21);  // six pages, one of them at once
  const RequestId b = engine.Submit(Prompt(2, 4), 17);  // five
  const RequestId c = engine.Submit(Prompt(3, 4), 1);
  engine.Step();
  EXPECT_TRUE(engine[a].admitted);
  EXPECT_EQ(engine.cache().available_pages(), 9);
  EXPECT_FALSE(engine[b].admitted);
  engine.Cancel(b);
  const RequestId d = engine.Submit(Prompt(2, 4), 13);  // four, but c has taken one
  engine.Step();
  EXPECT_TRUE(engine[c].finished());
  EXPECT_FALSE(engine[d].admitted);
  engine.Step();
  EXPECT_TRUE(engine[d].admitted);
  engine.Run();
}

TEST(Admission, AnEarlyEndGivesThePromiseBack) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 8});
  const RequestId a = engine.Submit(Prompt(1, 30), 4);
  engine.Step();
  EXPECT_EQ(engine.scheduler().stats().reserved_pages, 6) << "of eight, two are taken";
  engine.Cancel(a);
  EXPECT_EQ(engine.scheduler().stats().reserved_pages, 0);
}

TEST(Admission, DoesNotSkipTheHead) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  engine.Submit(Prompt(1, 17), 4);                         // five pages of ten
  const RequestId head = engine.Submit(Prompt(2, 21), 4);  // six
  const RequestId small = engine.Submit(Prompt(3, 1), 1);  // one, which would fit
  engine.Step();
  EXPECT_FALSE(engine[head].admitted);
  EXPECT_FALSE(engine[small].admitted);
  engine.Run();
  EXPECT_EQ(engine[head].reason, FinishReason::kLength);
  EXPECT_EQ(engine[small].reason, FinishReason::kLength);
}

TEST(Admission, GoesOnWhenTheHeadIsCancelled) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  const RequestId a = engine.Submit(Prompt(1, 17), 4);
  const RequestId head = engine.Submit(Prompt(2, 21), 4);
  const RequestId small = engine.Submit(Prompt(3, 1), 1);
  engine.Step();
  engine.Step();
  EXPECT_FALSE(engine[small].admitted);
  engine.Cancel(head);
  engine.Step();
  EXPECT_FALSE(engine[a].finished());
  EXPECT_TRUE(engine[small].finished());
}

TEST(Admission, GoesOnAsSoonAsOneOfTheRunningRequestsEnds) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  const RequestId shorter = engine.Submit(Prompt(1, 17), 4);  // five pages
  const RequestId longer = engine.Submit(Prompt(2, 4), 17);   // five pages
  const RequestId waiting = engine.Submit(Prompt(3, 17), 4);
  for (int i = 0; i < 4; ++i) engine.Step();
  EXPECT_TRUE(engine[shorter].finished());
  EXPECT_FALSE(engine[waiting].admitted);
  engine.Step();
  EXPECT_TRUE(engine[waiting].admitted);
  EXPECT_FALSE(engine[longer].finished());
}

// Regression: each try opened a view, which made what the head matches recently used.
TEST(Admission, OfOneThatCouldNotBeIsNoUse) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  for (const int which : {1, 2}) {  // two pages each of cache, 1 the older
    engine.Submit(Prompt(which, 8), 1);
    engine.Run();
  }
  const RequestId first = engine.Submit(Prompt(3, 20), 4);  // six pages
  engine.Step();
  const RequestId head = engine.Submit(Join(Prompt(1, 6), Prompt(5, 18)), 4);  // seven
  engine.Step();
  EXPECT_FALSE(engine[head].admitted);
  EXPECT_EQ(engine.cache().stats().nodes, 3) << "nothing was split";
  engine.Cancel(head);
  engine.Cancel(first);
  engine.Submit(Prompt(6, 5), 1);  // the pool is full of cache: two pages must go
  engine.Run();
  EXPECT_EQ(engine.Cached(Prompt(1, 8)), 0);
  EXPECT_EQ(engine.Cached(Prompt(2, 8)), 8);
}

TEST(Admission, OfOneThatCouldNotBeIsNoHit) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  engine.Submit(Prompt(1, 17), 20);                         // nine pages
  const RequestId head = engine.Submit(Prompt(1, 17), 20);  // would share four of them
  for (int i = 0; i < 3; ++i) engine.Step();
  EXPECT_FALSE(engine[head].admitted);
  engine.Cancel(head);
  EXPECT_EQ(engine[head].usage.cached_tokens, 0);
}

TEST(Admission, NeedsOneTokenOfTheBudget) {
  for (const std::size_t length : {14u, 15u, 16u}) {
    Engine engine({.max_batch_tokens = 16});
    engine.Submit(Prompt(1, length), 4);
    const RequestId next = engine.Submit(Prompt(2, 20), 4);
    engine.Step();
    EXPECT_EQ(engine[next].admitted, length < 16);
  }
}

TEST(Admission, EvictsWhatIsOnlyCached) {
  Engine engine({.page_size = 4, .pages = 10});
  for (int i = 0; i < 8; ++i) {
    const RequestId id = engine.Submit(Prompt(i, 30), 10);
    engine.Run();
    EXPECT_EQ(engine[id].tokens, Expected(Prompt(i, 30), 10).tokens);
  }
}

TEST(Admission, ReportsThePromptButItsLastTokenAsCachedTheSecondTime) {
  for (std::size_t length = 1; length <= 17; ++length) {
    Engine engine({.page_size = 4});
    const RequestId first = engine.Submit(Prompt(1, length), 4);
    engine.Run();
    const std::int64_t computed = engine.model().computed();
    EXPECT_EQ(computed, static_cast<std::int64_t>(length) + 4 - 1);
    const RequestId second = engine.Submit(Prompt(1, length), 4);
    engine.Run();
    EXPECT_EQ(engine[first].cached_tokens, 0);
    EXPECT_EQ(engine[second].cached_tokens, static_cast<std::int64_t>(length) - 1);
    EXPECT_EQ(engine[second].usage.cached_tokens, static_cast<std::int64_t>(length) - 1);
    EXPECT_EQ(engine[second].tokens, engine[first].tokens);
    EXPECT_EQ(engine.model().computed(), computed + 4) << "the last of the prompt and three more";
  }
}

// 16 slots are all of the pool. The first run leaves them cached; 15 tokens of prompt match three
// pages and three slots of the fourth, whose copy would need a fifth page.
TEST(Admission, GivesUpACopyOnWriteThatWouldNotFit) {
  Engine engine({.page_size = 4, .pages = 4});
  const RequestId first = engine.Submit(Prompt(1, 15), 2);
  engine.Run();
  const RequestId second = engine.Submit(Prompt(1, 15), 2);
  engine.Run();
  EXPECT_EQ(engine[second].cached_tokens, 12);
  EXPECT_EQ(engine[second].tokens, engine[first].tokens);
}

TEST(Admission, CopiesOnWriteWhenThereIsOnePageMore) {
  Engine engine({.page_size = 4, .pages = 5});
  engine.Submit(Prompt(1, 15), 2);
  engine.Run();
  const RequestId second = engine.Submit(Prompt(1, 15), 2);
  engine.Run();
  EXPECT_EQ(engine[second].cached_tokens, 14);
  EXPECT_EQ(engine[second].tokens, Expected(Prompt(1, 15), 2).tokens);
}

// The pool's every slot in use by one request, again and again over what the last one left.
TEST(Admission, ARequestAsLargeAsThePoolAlwaysRuns) {
  Engine engine({.page_size = 4, .pages = 4});
  for (int i = 0; i < 12; ++i) {
    const std::vector<TokenId> prompt = Prompt(i % 3, 15 - static_cast<std::size_t>(i % 4));
    const RequestId id = engine.Submit(prompt, 1000);
    engine.Run();
    const auto most = 16 - static_cast<std::int64_t>(prompt.size()) + 1;
    EXPECT_EQ(engine[id].tokens, Expected(prompt, most).tokens);
    EXPECT_EQ(engine[id].reason, FinishReason::kLength);
  }
}

// Five pages are a's prompt, published after its prefill; b needs seven, of which it then leases
// four and copies from the fifth, and takes the last three pages.
TEST(Admission, TriesTheHeadAgainWhenAPrefillHasBeenPublished) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
  const RequestId a = engine.Submit(Prompt(1, 20), 9);
  const RequestId b = engine.Submit(Prompt(1, 20), 9);
  engine.Step();
  EXPECT_FALSE(engine[b].admitted);
  engine.Step();
  EXPECT_TRUE(engine[b].admitted);
  EXPECT_EQ(engine[b].cached_tokens, 19);
  EXPECT_FALSE(engine[a].finished());
  engine.Run();
  EXPECT_EQ(engine[b].tokens, engine[a].tokens);
}

TEST(Admission, NamespacesShareNothing) {
  Engine engine({});
  Ask ask;
  ask.prompt = Prompt(1, 20);
  engine.Submit(ask);
  engine.Run();
  ask.cache_salt = "other";
  const RequestId other = engine.Submit(ask);
  engine.Run();
  const RequestId again = engine.Submit(ask);
  engine.Run();
  EXPECT_EQ(engine[other].cached_tokens, 0);
  EXPECT_EQ(engine[again].cached_tokens, 19);
}

TEST(Admission, RefusesAtOnceWhatCanNeverFit) {
  Engine engine({.page_size = 4, .pages = 4, .context_length = 100});
  const RequestId fits = engine.Submit(Prompt(1, 15), 1);
  const RequestId over = engine.Submit(Prompt(2, 16), 1);
  EXPECT_FALSE(engine[fits].finished());
  EXPECT_EQ(engine[over].reason, FinishReason::kRefused);
  EXPECT_FALSE(engine[over].admitted);
  EXPECT_EQ(engine[over].observed.finished, 1);
  EXPECT_EQ(engine[over].usage.prompt_tokens, 16);
  EXPECT_EQ(engine.scheduler().TakeLeft(), 1u);
  engine.Run();
  EXPECT_EQ(engine[fits].reason, FinishReason::kLength);
}

TEST(Admission, CountsWhoLeftTheQueueOnce) {
  Engine engine({.max_batch_tokens = 16, .max_running = 2});
  std::vector<RequestId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(engine.Submit(Prompt(i, 3), 2));
  EXPECT_EQ(engine.scheduler().TakeLeft(), 0u);
  engine.Step();
  EXPECT_EQ(engine.scheduler().TakeLeft(), 2u) << "admitted";
  engine.Cancel(ids[0]);
  EXPECT_EQ(engine.scheduler().TakeLeft(), 0u) << "it had left before";
  engine.Cancel(ids[3]);
  EXPECT_EQ(engine.scheduler().TakeLeft(), 1u) << "cancelled while it waited";
  engine.Run();
  EXPECT_EQ(engine.scheduler().TakeLeft(), 1u);
}

using AdmissionDeathTest = testing::Test;

TEST(AdmissionDeathTest, ARequestMustBeWhole) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Engine engine({});
  EXPECT_DEATH(engine.Submit({}, 1), "CHECK failed");
  EXPECT_DEATH(engine.Submit(Prompt(1, 3), -1), "CHECK failed");
}

}  // namespace
}  // namespace banyan::scheduler
