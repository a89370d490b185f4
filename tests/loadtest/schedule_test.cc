#include "loadtest/run/schedule.h"

#include <gtest/gtest.h>

namespace banyan::loadtest {
namespace {

using std::chrono::seconds;

Turn At(std::optional<Tick> at, Tick think = Tick(0)) {
  Turn turn;
  turn.at = at;
  turn.think = think;
  return turn;
}

Workload Of(std::vector<Turn> turns) {
  Workload workload;
  workload.conversations.push_back({"c", std::move(turns)});
  return workload;
}

TEST(Schedule, AnOpenLoopDoesNotWaitForTheServer) {
  const Due due = FirstDue(At(Tick(500)), Loop::kOpen, Tick(900));
  EXPECT_EQ(due.scheduled, Tick(500));
  EXPECT_EQ(due.ready, Tick(500));
}

TEST(Schedule, AClosedLoopLooksAtNoTimes) {
  const Due first = FirstDue(At(Tick(500)), Loop::kClosed, Tick(900));
  EXPECT_EQ(first.scheduled, Tick(900));
  const Due next = NextDue(At(Tick(500), Tick(7)), Loop::kClosed, Tick(1000));
  EXPECT_EQ(next.scheduled, Tick(1007));
  EXPECT_EQ(next.ready, Tick(1007));
}

TEST(Schedule, ALateAnswerDelaysATurnButNotItsSchedule) {
  const Due late = NextDue(At(Tick(500)), Loop::kOpen, Tick(900));
  EXPECT_EQ(late.scheduled, Tick(500)) << "the wait is the server's";
  EXPECT_EQ(late.ready, Tick(900)) << "and not the client's";
  const Due early = NextDue(At(Tick(500)), Loop::kOpen, Tick(100));
  EXPECT_EQ(early.ready, Tick(500));
}

TEST(Schedule, WithoutATimeOfItsOwnATurnThinks) {
  const Due due = NextDue(At(std::nullopt, Tick(40)), Loop::kOpen, Tick(100));
  EXPECT_EQ(due.scheduled, Tick(140));
}

TEST(Schedule, PlacesJoinOverTheRamp) {
  RunOptions options;
  options.concurrency = 4;
  EXPECT_EQ(JoinOf(3, options), Tick(0)) << "no ramp";
  options.ramp = Tick(100);
  EXPECT_EQ(JoinOf(0, options), Tick(0));
  EXPECT_EQ(JoinOf(1, options), Tick(25));
  EXPECT_EQ(JoinOf(3, options), Tick(75));
  options.ramp_steps = 2;
  EXPECT_EQ(JoinOf(1, options), Tick(0));
  EXPECT_EQ(JoinOf(2, options), Tick(50));
  EXPECT_EQ(JoinOf(3, options), Tick(50));
}

TEST(Schedule, TheBoundIsWhatIsPlanned) {
  const Workload workload = Of({At(Tick(0)), At(Tick(0)), At(Tick(0))});
  RunOptions options;
  EXPECT_EQ(Planned(workload, options), 3);
  for (const std::int64_t most : {2, 3, 4}) {
    options.max_requests = most;
    EXPECT_EQ(Planned(workload, options), std::min<std::int64_t>(most, 3));
  }
}

TEST(Schedule, TimeLeftIsTheSoonerOfBoundAndWork) {
  RunOptions options;
  EXPECT_EQ(TimeLeft(options, seconds(5), 0, 10), std::nullopt);
  EXPECT_EQ(TimeLeft(options, seconds(5), 5, 10), Tick(seconds(5)));
  options.max_time = seconds(7);
  EXPECT_EQ(TimeLeft(options, seconds(5), 0, 10), Tick(seconds(2)));
  EXPECT_EQ(TimeLeft(options, seconds(5), 5, 10), Tick(seconds(2)));
  EXPECT_EQ(TimeLeft(options, seconds(5), 10, 10), Tick(0));
  EXPECT_EQ(TimeLeft(options, seconds(8), 0, 10), Tick(0));
}

TEST(Schedule, ARunThatMakesNoSenseIsRefused) {
  const Workload timed = Of({At(Tick(0))});
  const Workload untimed = Of({At(std::nullopt)});
  RunOptions options;
  EXPECT_TRUE(Check(timed, options).ok());
  EXPECT_FALSE(Check(Workload(), options).ok());
  EXPECT_FALSE(Check(untimed, options).ok());
  options.concurrency = 1;
  EXPECT_TRUE(Check(untimed, options).ok());
  options.max_in_flight = 0;
  EXPECT_FALSE(Check(timed, options).ok());
  options.max_in_flight = 1;
  EXPECT_TRUE(Check(timed, options).ok());
  options.warm_up = options.max_time = seconds(1);
  EXPECT_FALSE(Check(timed, options).ok());
  options.max_time += Tick(1);
  EXPECT_TRUE(Check(timed, options).ok());
  options.max_requests = -1;
  EXPECT_FALSE(Check(timed, options).ok());
}

}  // namespace
}  // namespace banyan::loadtest
