#include "scheduler/inbox.h"

#include <chrono>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::scheduler {
namespace {

using std::chrono::nanoseconds;
constexpr nanoseconds kForever = nanoseconds::max();

Request Numbered(std::uint64_t id) {
  Request request;
  request.id = RequestId{id};
  return request;
}

Cancellation CancelOf(std::uint64_t id) { return {RequestId{id}, CancelReason::kClientGone, 0}; }

TEST(Inbox, GivesWhatCameInOrder) {
  Inbox inbox(8);
  inbox.Submit(Numbered(3));
  inbox.Submit(Numbered(1));
  inbox.Cancel(CancelOf(1));
  inbox.Submit(Numbered(2));
  inbox.Cancel(CancelOf(3));

  const Inbox::Mail mail = inbox.Drain(nanoseconds(0));
  ASSERT_EQ(mail.requests.size(), 3u);
  EXPECT_EQ(mail.requests[0].id, RequestId{3});
  EXPECT_EQ(mail.requests[1].id, RequestId{1});
  EXPECT_EQ(mail.requests[2].id, RequestId{2});
  ASSERT_EQ(mail.cancellations.size(), 2u);
  EXPECT_EQ(mail.cancellations[0].request, RequestId{1});
  EXPECT_EQ(mail.cancellations[1].request, RequestId{3});
}

TEST(Inbox, GivesEverythingOnce) {
  Inbox inbox(8);
  inbox.Submit(Numbered(1));
  inbox.Cancel(CancelOf(1));
  inbox.Drain(nanoseconds(0));
  const Inbox::Mail mail = inbox.Drain(nanoseconds(0));
  EXPECT_TRUE(mail.requests.empty());
  EXPECT_TRUE(mail.cancellations.empty());
}

TEST(Inbox, TakesAllOfSeveralOrNone) {
  Inbox inbox(3);
  const auto several = [](std::uint64_t first, std::uint64_t count) {
    std::vector<Request> requests;
    for (std::uint64_t i = 0; i < count; ++i) requests.push_back(Numbered(first + i));
    return requests;
  };
  EXPECT_EQ(inbox.max_queue(), 3u);
  EXPECT_EQ(inbox.Submit(several(1, 4)), Inbox::Submitted::kFull);
  EXPECT_EQ(inbox.waiting(), 0u);
  EXPECT_EQ(inbox.Submit(several(1, 2)), Inbox::Submitted::kTaken);
  EXPECT_EQ(inbox.Submit(several(3, 2)), Inbox::Submitted::kFull);
  EXPECT_EQ(inbox.waiting(), 2u);
  EXPECT_EQ(inbox.Submit(several(3, 1)), Inbox::Submitted::kTaken);
  const Inbox::Mail mail = inbox.Drain(nanoseconds(0));
  ASSERT_EQ(mail.requests.size(), 3u);
  EXPECT_EQ(mail.requests[1].id, RequestId{2});
  EXPECT_EQ(mail.requests[2].id, RequestId{3});
}

TEST(Inbox, TakesUpToItsBoundAndNotOneMore) {
  Inbox inbox(3);
  EXPECT_EQ(inbox.Submit(Numbered(1)), Inbox::Submitted::kTaken);
  EXPECT_EQ(inbox.Submit(Numbered(2)), Inbox::Submitted::kTaken);
  EXPECT_EQ(inbox.Submit(Numbered(3)), Inbox::Submitted::kTaken);
  EXPECT_EQ(inbox.Submit(Numbered(4)), Inbox::Submitted::kFull);
  EXPECT_EQ(inbox.waiting(), 3u);
  EXPECT_EQ(inbox.Drain(nanoseconds(0)).requests.size(), 3u);
}

TEST(Inbox, CountsDrainedRequestsUntilTheyLeft) {
  Inbox inbox(2);
  inbox.Submit(Numbered(1));
  inbox.Submit(Numbered(2));
  inbox.Drain(nanoseconds(0));
  EXPECT_EQ(inbox.waiting(), 2u);
  EXPECT_EQ(inbox.Submit(Numbered(3)), Inbox::Submitted::kFull);

  inbox.Left(1);
  EXPECT_EQ(inbox.waiting(), 1u);
  EXPECT_EQ(inbox.Submit(Numbered(4)), Inbox::Submitted::kTaken);
  EXPECT_EQ(inbox.Submit(Numbered(5)), Inbox::Submitted::kFull);
}

TEST(InboxDeathTest, MoreCannotLeaveThanWait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Inbox inbox(2);
  inbox.Submit(Numbered(1));
  EXPECT_DEATH(inbox.Left(2), "CHECK failed");
}

TEST(Inbox, WithoutRoomTakesNothing) {
  Inbox inbox(0);
  EXPECT_EQ(inbox.Submit(Numbered(1)), Inbox::Submitted::kFull);
}

TEST(Inbox, CancellationsComeThroughWhenItIsFullAndWhenItIsClosed) {
  Inbox inbox(1);
  inbox.Submit(Numbered(1));
  inbox.Close();
  inbox.Cancel(CancelOf(1));
  EXPECT_EQ(inbox.Drain(kForever).cancellations.size(), 1u);
}

TEST(Inbox, ClosedTakesNoMoreButGivesWhatItHas) {
  Inbox inbox(4);
  inbox.Submit(Numbered(1));
  EXPECT_FALSE(inbox.closed());
  inbox.Close();
  EXPECT_TRUE(inbox.closed());
  EXPECT_EQ(inbox.Submit(Numbered(2)), Inbox::Submitted::kClosed);
  EXPECT_EQ(inbox.Drain(kForever).requests.size(), 1u);
  EXPECT_TRUE(inbox.Drain(kForever).requests.empty()) << "and does not wait for what cannot come";
}

TEST(Inbox, WaitsNoLongerThanItsPatience) {
  Inbox inbox(4);
  EXPECT_TRUE(inbox.Drain(nanoseconds(1)).requests.empty());
  EXPECT_TRUE(inbox.Drain(nanoseconds(0)).requests.empty());
  EXPECT_TRUE(inbox.Drain(nanoseconds(-1)).requests.empty());
  EXPECT_TRUE(inbox.Drain(nanoseconds::min()).requests.empty());
}

// Each of the three ends a wait that would last forever; without the wake-up the test hangs.
TEST(Inbox, ARequestEndsTheWait) {
  Inbox inbox(4);
  std::thread producer([&] { inbox.Submit(Numbered(1)); });
  EXPECT_EQ(inbox.Drain(kForever).requests.size(), 1u);
  producer.join();
}

TEST(Inbox, ACancellationEndsTheWait) {
  Inbox inbox(4);
  std::thread producer([&] { inbox.Cancel(CancelOf(1)); });
  EXPECT_EQ(inbox.Drain(kForever).cancellations.size(), 1u);
  producer.join();
}

TEST(Inbox, ClosingEndsTheWait) {
  Inbox inbox(4);
  std::thread closer([&] { inbox.Close(); });
  EXPECT_TRUE(inbox.Drain(kForever).requests.empty());
  closer.join();
}

// Producers retry until taken; the engine lets go of what it drained. Nothing is lost or doubled,
// each producer's requests stay in its order, and the bound holds whenever it is looked at.
TEST(Inbox, ManyThreadsLoseNothing) {
  constexpr std::uint64_t kProducers = 4;
  constexpr std::uint64_t kEach = 500;
  constexpr std::size_t kBound = 7;
  Inbox inbox(kBound);
  std::vector<std::thread> producers;
  for (std::uint64_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&inbox, p] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t id = p * kEach + i;
        while (inbox.Submit(Numbered(id)) != Inbox::Submitted::kTaken) std::this_thread::yield();
        inbox.Cancel(CancelOf(id));
      }
    });
  }

  std::vector<std::uint64_t> next(kProducers, 0);
  std::uint64_t requests = 0;
  std::uint64_t cancellations = 0;
  while (requests < kProducers * kEach || cancellations < kProducers * kEach) {
    const Inbox::Mail mail = inbox.Drain(kForever);
    EXPECT_LE(mail.requests.size(), kBound);
    EXPECT_LE(inbox.waiting(), kBound);
    for (const Request& request : mail.requests) {
      const auto id = static_cast<std::uint64_t>(request.id);
      EXPECT_EQ(id % kEach, next[id / kEach]++);
      ++requests;
    }
    cancellations += mail.cancellations.size();
    inbox.Left(mail.requests.size());
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(requests, kProducers * kEach);
  EXPECT_EQ(cancellations, kProducers * kEach);
  EXPECT_EQ(inbox.waiting(), 0u);
}

}  // namespace
}  // namespace banyan::scheduler
