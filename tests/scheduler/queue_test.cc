#include "scheduler/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/priority.h"
#include "tests/scheduler/waiting_room.h"

namespace banyan::scheduler {
namespace {

constexpr Tick kAgeing{100};

Options QueueOptions(std::int32_t max_passes = 1'000) {
  Options options;
  options.max_passes = max_passes;
  options.ageing = kAgeing;
  options.quantum = 10;
  return options;
}

// Who waits longest is passed over by the others so often.
void PassOver(WaitingRoom& room, int times) {
  for (int i = 0; i < times; ++i) {
    Job& hot = room.Come({.cached = WaitingRoom::kMostCached});
    ASSERT_EQ(room.Next(), &hot);
    room.Finish(room.Admit());
  }
}

TEST(QueueTest, IsEmptyAtFirst) {
  WaitingRoom room(QueueOptions());
  EXPECT_EQ(room.Next(), nullptr);
  EXPECT_TRUE(room.queue().empty());
  Job& job = room.Come({});
  EXPECT_FALSE(room.queue().empty());
  EXPECT_EQ(room.queue().size(), 1u);
  EXPECT_EQ(room.Next(), &job);
  room.Admit();
  EXPECT_EQ(room.Next(), nullptr);
  EXPECT_TRUE(room.queue().empty());
}

TEST(QueueTest, EqualsComeInOrderOfArrival) {
  WaitingRoom room(QueueOptions());
  std::vector<Job*> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(&room.Come({}));
  for (Job* job : jobs) EXPECT_EQ(&room.Admit(), job);
}

TEST(QueueTest, MoreCachedGoesBeforeArrival) {
  WaitingRoom room(QueueOptions());
  Job& cold = room.Come({.cached = 3});
  Job& hot = room.Come({.cached = 5});
  Job& warm = room.Come({.cached = 4});
  EXPECT_EQ(&room.Admit(), &hot);
  EXPECT_EQ(&room.Admit(), &warm);
  EXPECT_EQ(&room.Admit(), &cold);
}

TEST(QueueTest, TheTenantsTurnGoesBeforeWhatIsCached) {
  WaitingRoom room(QueueOptions());
  Job& a = room.Come({.tenant = "a", .cached = 3});
  Job& hot = room.Come({.tenant = "b", .cached = 5});
  EXPECT_EQ(room.Next(), &a);
  room.tenants().Charge(*a.tenant, 10);
  EXPECT_EQ(room.Next(), &hot);
}

TEST(QueueTest, PriorityGoesBeforeTheTenantsTurn) {
  WaitingRoom room(QueueOptions());
  Job& a = room.Come({.tenant = "a", .cached = 3});
  Job& urgent = room.Come({.tenant = "b", .priority = 1});
  room.tenants().Charge(*urgent.tenant, 1'000);
  EXPECT_EQ(&room.Admit(), &urgent);
  EXPECT_EQ(&room.Admit(), &a);
}

TEST(QueueTest, AskingChangesNothing) {
  WaitingRoom room(QueueOptions());
  for (int i = 0; i < 10; ++i) {
    Job& job = room.Come({.tenant = std::to_string(i % 3), .cached = i % 4});
    room.tenants().Charge(*job.tenant, 9 * i);
    Job* next = room.Next();
    const std::int64_t deficit = next->tenant->deficit();
    for (int again = 0; again < 3; ++again) EXPECT_EQ(room.Next(), next);
    EXPECT_EQ(next->tenant->deficit(), deficit);
  }
  EXPECT_EQ(room.queue().size(), 10u);
  EXPECT_EQ(room.queue().passes(), 0);
}

TEST(QueueTest, AJobIsMovedWhenMoreOrLessOfItIsCached) {
  WaitingRoom room(QueueOptions());
  Job& a = room.Come({.cached = 5});
  Job& b = room.Come({.cached = 3});
  EXPECT_EQ(room.Next(), &a);
  room.SetCached(b, 6);
  EXPECT_EQ(room.Next(), &b);
  room.SetCached(b, 5);
  EXPECT_EQ(room.Next(), &a);
  room.SetCached(a, 4);
  EXPECT_EQ(room.Next(), &b);
}

TEST(QueueTest, WhatBecameCachedWhileAJobWasAwayCountsWhenItIsBack) {
  WaitingRoom room(QueueOptions());
  Job& away = room.Come({.cached = 0});
  Job& here = room.Come({.cached = 5});
  room.Remove(away);
  room.SetCached(away, 6);
  EXPECT_EQ(room.Next(), &here);
  room.Push(away);
  EXPECT_EQ(room.Next(), &away);
}

TEST(QueueTest, WhoIsRemovedIsNotNext) {
  WaitingRoom room(QueueOptions());
  Job& a = room.Come({});
  Job& b = room.Come({});
  room.Remove(a);
  EXPECT_EQ(room.Next(), &b);
  room.Remove(b);
  EXPECT_EQ(room.Next(), nullptr);
  room.Push(b);
  room.Push(a);
  EXPECT_EQ(room.Next(), &a) << "with the arrival that it had";
}

TEST(AgeingTest, AWholeIntervalOfWaitingIsOnePriorityMore) {
  const auto aged = [](std::int32_t priority, Tick since, Tick now) {
    return AgedPriority(DueTime(priority, since, kAgeing), now, kAgeing);
  };
  for (std::int32_t from = 0; from <= kMaxPriority; ++from) {
    for (std::int32_t steps = 0; steps <= 12; ++steps) {
      const Tick at = Tick(7) + steps * kAgeing;
      const std::int32_t here = std::min(from + steps, kMaxPriority);
      const std::int32_t below = std::min(from + steps - 1, kMaxPriority);
      if (steps > 0) {
        EXPECT_EQ(aged(from, Tick(7), at - Tick(1)), below) << from << " " << steps;
      }
      EXPECT_EQ(aged(from, Tick(7), at), here) << from << " " << steps;
      EXPECT_EQ(aged(from, Tick(7), at + Tick(1)), here) << from << " " << steps;
    }
  }
}

TEST(AgeingTest, AJobIsPromotedAtExactlyTheBorder) {
  for (std::int32_t steps = 1; steps <= kMaxPriority; ++steps) {
    WaitingRoom room(QueueOptions());
    Job& old = room.Come({});
    room.Advance(steps * kAgeing - Tick(1));
    Job& urgent = room.Come({.priority = steps});
    EXPECT_EQ(room.Next(), &urgent);
    EXPECT_EQ(old.place.priority, steps - 1);
    room.Advance(Tick(1));
    EXPECT_EQ(room.Next(), &old);
    EXPECT_EQ(old.place.priority, steps);
    room.Advance(Tick(1));
    EXPECT_EQ(room.Next(), &old);
    room.CheckInvariants();
  }
}

TEST(AgeingTest, NobodyIsPromotedPastTheHighest) {
  WaitingRoom room(QueueOptions());
  Job& old = room.Come({});
  room.Advance(100 * kAgeing);
  Job& hot = room.Come({.priority = kMaxPriority, .cached = 1});
  EXPECT_EQ(room.Next(), &hot);
  EXPECT_EQ(old.place.priority, kMaxPriority);
}

TEST(AgeingTest, WaitingCountsFromTheSubmitWhateverHappenedMeanwhile) {
  WaitingRoom room(QueueOptions());
  Job& preempted = room.Come({});
  EXPECT_EQ(&room.Admit(), &preempted);
  room.Advance(3 * kAgeing);
  Job& urgent = room.Come({.priority = 3});
  EXPECT_EQ(room.Next(), &urgent);
  room.Push(preempted);
  EXPECT_EQ(room.Next(), &preempted);
  EXPECT_EQ(preempted.place.priority, 3);
}

TEST(AgeingTest, ALateAskPromotesAllThatAreDue) {
  WaitingRoom room(QueueOptions());
  std::vector<Job*> jobs;
  for (std::int32_t i = 0; i < 20; ++i) {
    jobs.push_back(&room.Come({.tenant = std::to_string(i % 3), .priority = i % 7}));
    room.Advance(kAgeing / 3);
  }
  room.Next();
  for (const Job* job : jobs) {
    EXPECT_EQ(job->place.priority, AgedPriority(job->due, room.now(), kAgeing));
  }
}

TEST(AgeingTest, TheLongestIntervalThatIsAllowedIsOne) {
  Options options = QueueOptions();
  options.ageing = kMaxAgeing;
  WaitingRoom room(options);
  Job& old = room.Come({.tenant = "a"});
  Job& older = room.Come({.tenant = "a", .priority = kMaxPriority - 1});
  room.Advance(kMaxAgeing - Tick(1));
  EXPECT_EQ(room.Next(), &older);
  EXPECT_EQ(old.place.priority, 0);
  EXPECT_EQ(older.place.priority, kMaxPriority - 1);
  room.Advance(Tick(1));
  EXPECT_EQ(room.Next(), &older);
  EXPECT_EQ(old.place.priority, 1);
  EXPECT_EQ(older.place.priority, kMaxPriority);
}

class PassesTest : public testing::TestWithParam<std::int32_t> {};

TEST_P(PassesTest, TheOldestIsPassedOverSoOftenAndThenIsNext) {
  const std::int32_t max_passes = GetParam();
  WaitingRoom room(QueueOptions(max_passes));
  Job& cold = room.Come({});
  for (std::int32_t passes = 0; passes < max_passes; ++passes) {
    EXPECT_EQ(cold.place.passes, passes);
    PassOver(room, 1);
  }
  Job& hot = room.Come({.cached = 1});
  EXPECT_EQ(room.Next(), &cold);
  EXPECT_EQ(&room.Admit(), &cold);
  EXPECT_EQ(cold.place.passes, max_passes);
  EXPECT_EQ(room.queue().passes(), max_passes);
  EXPECT_EQ(room.Next(), &hot);
}

// The bound of queue.h, met: nobody could be admitted later than these are.
TEST_P(PassesTest, EachOfManyColdOnesIsAdmittedWithinItsBoundUnderAFloodOfHotOnes) {
  const int max_passes = GetParam();
  WaitingRoom room(QueueOptions(max_passes));
  std::map<const Job*, int> cold;
  for (int i = 0; i < 4; ++i) cold[&room.Come({.cached = i % 2})] = i;
  for (int admissions = 1; admissions <= 4 * (max_passes + 1); ++admissions) {
    room.Come({.cached = 9});
    room.Come({.cached = 8});
    const Job& admitted = room.Admit();
    const bool is_due = admissions % (max_passes + 1) == 0;
    ASSERT_EQ(cold.contains(&admitted), is_due) << admissions;
    if (is_due) {
      EXPECT_EQ((cold[&admitted] + 1) * (max_passes + 1), admissions);
    }
    room.CheckInvariants();
  }
  EXPECT_EQ(room.queue().passes(), 4 * max_passes);
}

INSTANTIATE_TEST_SUITE_P(QueueTest, PassesTest, testing::Values(0, 1, 2, 16));

TEST(PassOverTest, OnlyTheOldestOfTheClassIsPassedOver) {
  WaitingRoom room(QueueOptions());
  room.Come({});
  Job& second = room.Come({});
  Job& other_tenant = room.Come({.tenant = "a"});
  PassOver(room, 2);
  room.Finish(room.Admit());  // the oldest itself: no pass
  EXPECT_EQ(second.place.passes, 0);
  EXPECT_EQ(other_tenant.place.passes, 0);
  EXPECT_EQ(room.queue().passes(), 2);
  PassOver(room, 1);
  EXPECT_EQ(second.place.passes, 1);
}

TEST(PassOverTest, ThoseOfAnotherPriorityOrTenantPassNobody) {
  WaitingRoom room(QueueOptions(0));
  Job& cold = room.Come({});
  Job& urgent = room.Come({.priority = 1});
  Job& other = room.Come({.tenant = "a"});
  EXPECT_EQ(&room.Admit(10), &urgent);
  EXPECT_EQ(&room.Admit(), &other) << "the default tenant has used its turn";
  EXPECT_EQ(cold.place.passes, 0);
  EXPECT_EQ(room.queue().passes(), 0);
}

TEST(PassOverTest, WhoIsAwayIsNotPassedOverAndKeepsItsPasses) {
  WaitingRoom room(QueueOptions(3));
  Job& cold = room.Come({});
  PassOver(room, 2);
  room.Remove(cold);
  room.Come({});
  PassOver(room, 2);
  EXPECT_EQ(cold.place.passes, 2);
  room.Push(cold);
  PassOver(room, 1);
  EXPECT_EQ(cold.place.passes, 3);
  room.Come({.cached = 1});
  EXPECT_EQ(room.Next(), &cold);
}

TEST(PassOverTest, APromotionKeepsThem) {
  WaitingRoom room(QueueOptions(2));
  Job& cold = room.Come({});
  PassOver(room, 1);
  room.Advance(kAgeing);
  for (int i = 0; i < 3; ++i) room.Come({.priority = 1, .cached = 1});
  EXPECT_NE(&room.Admit(), &cold);
  EXPECT_EQ(&room.Admit(), &cold);
  EXPECT_EQ(cold.place.passes, 2);
}

TEST(PassOverTest, WhoWaitsLongerAndComesBackIsTheOldest) {
  WaitingRoom room(QueueOptions(1));
  Job& preempted = room.Come({});
  room.Remove(preempted);
  Job& cold = room.Come({});
  PassOver(room, 1);
  room.Push(preempted);
  PassOver(room, 1);
  EXPECT_EQ(cold.place.passes, 1) << "it is not the oldest now";
  EXPECT_EQ(&room.Admit(), &preempted);
  EXPECT_EQ(&room.Admit(), &cold);
}

TEST(SharesTest, TenantsThatFloodGetTheSameTokens) {
  WaitingRoom room(QueueOptions(2));
  const std::map<std::string, std::int64_t> sizes = {{"a", 3}, {"b", 25}, {"c", 11}};
  std::map<std::string, std::int64_t> got;
  for (const auto& [name, size] : sizes) {
    for (int i = 0; i < 3; ++i) room.Come({.tenant = name, .cached = i});
  }
  for (int i = 0; i < 2'000; ++i) {
    const std::string name = room.Next()->tenant->name();
    room.Come({.tenant = name, .cached = i % 5});
    room.Finish(room.Admit(sizes.at(name)));
    got[name] += sizes.at(name);
    const auto [least, most] = std::minmax({got["a"], got["b"], got["c"]});
    ASSERT_LT(most - least, 10 + 25) << i;
  }
  EXPECT_GT(got["a"], 100 * 25);
}

TEST(SharesTest, ATenantBesideAFloodWaitsOneTurnAndNotForTheFlood) {
  WaitingRoom room(QueueOptions());
  for (int i = 0; i < 100; ++i) room.Come({.tenant = "flood", .cached = 50});
  for (int i = 0; i < 20; ++i) room.Admit(3);
  const Job& light = room.Come({.tenant = "light"});
  int before = 0;
  while (&room.Admit(3) != &light) ++before;
  EXPECT_LE(before, 4);
}

TEST(SharesTest, WhoIsDoneIsForgotten) {
  WaitingRoom room(QueueOptions());
  room.Come({.tenant = "stays"});
  for (int i = 0; i < 1'000; ++i) {
    Job& job = room.Come({.tenant = std::to_string(i), .priority = i % 10});
    if (i % 2 == 0) room.Remove(job);
    room.Finish(job);
  }
  EXPECT_EQ(room.tenants().size(), 1u);
  EXPECT_EQ(room.queue().size(), 1u);
}

}  // namespace
}  // namespace banyan::scheduler
