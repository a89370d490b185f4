#include "scheduler/token_stream.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace banyan::scheduler {
namespace {

using Kind = StreamEvent::Kind;

StreamEvent Token(TokenId token) {
  StreamEvent event;
  event.kind = Kind::kToken;
  event.token = token;
  return event;
}

class TokenStreamTest : public testing::Test {
 protected:
  std::function<void()> Count() {
    return [this] { ++wakes_; };
  }
  std::vector<StreamEvent> Take(TokenStream& stream) {
    std::vector<StreamEvent> events;
    stream.Take(events);
    return events;
  }

  int wakes_ = 0;
};

TEST_F(TokenStreamTest, GivesEventsInOrderAndOnce) {
  TokenStream stream(4, Count());
  StreamEvent admitted;
  admitted.kind = Kind::kAdmitted;
  admitted.cached_tokens = 12;
  EXPECT_TRUE(stream.Push(admitted));
  EXPECT_TRUE(stream.Push(Token(7)));
  EXPECT_TRUE(stream.Push(Token(8)));

  const std::vector<StreamEvent> events = Take(stream);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, Kind::kAdmitted);
  EXPECT_EQ(events[0].cached_tokens, 12);
  EXPECT_EQ(events[1].token, 7);
  EXPECT_EQ(events[2].token, 8);
  EXPECT_TRUE(Take(stream).empty());
}

TEST_F(TokenStreamTest, TakeForgetsWhatTheVectorHeld) {
  TokenStream stream(4, Count());
  std::vector<StreamEvent> events(3);
  stream.Take(events);
  EXPECT_TRUE(events.empty());
  stream.Push(Token(1));
  events.resize(5);
  stream.Take(events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].token, 1);
}

TEST_F(TokenStreamTest, WakesOnlyWhenItWasEmpty) {
  TokenStream stream(4, Count());
  stream.Push(Token(1));
  stream.Push(Token(2));
  EXPECT_EQ(wakes_, 1);
  Take(stream);
  EXPECT_EQ(wakes_, 1);
  stream.Push(Token(3));
  EXPECT_EQ(wakes_, 2);
  stream.Finish(FinishReason::kStop, {});
  EXPECT_EQ(wakes_, 2) << "the reader was woken and has not read yet";
}

TEST_F(TokenStreamTest, TheEndAloneWakesToo) {
  TokenStream stream(4, Count());
  stream.Finish(FinishReason::kCancelled, {});
  EXPECT_EQ(wakes_, 1);
}

TEST_F(TokenStreamTest, HoldsItsCapacityAndNotOneMore) {
  TokenStream stream(2, Count());
  EXPECT_TRUE(stream.Push(Token(1)));
  EXPECT_TRUE(stream.Push(Token(2)));
  EXPECT_FALSE(stream.Push(Token(3)));
  EXPECT_EQ(Take(stream).size(), 2u) << "what was refused was not taken";
  EXPECT_TRUE(stream.Push(Token(4)));
}

TEST_F(TokenStreamTest, TheEndFitsIntoAFullStream) {
  TokenStream stream(1, Count());
  EXPECT_TRUE(stream.Push(Token(1)));
  EXPECT_FALSE(stream.Push(Token(2)));
  Usage usage;
  usage.output_tokens = 2;
  stream.Finish(FinishReason::kSlowReader, usage);

  const std::vector<StreamEvent> events = Take(stream);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].kind, Kind::kFinished);
  EXPECT_EQ(events[1].reason, FinishReason::kSlowReader);
  EXPECT_EQ(events[1].usage.output_tokens, 2);
}

TEST_F(TokenStreamTest, MayBeUsedFromWithinItsWake) {
  std::vector<StreamEvent> events;
  TokenStream* self = nullptr;
  TokenStream stream(1, [&] { self->Take(events); });  // hangs if called under the lock
  self = &stream;
  stream.Push(Token(5));
  ASSERT_EQ(events.size(), 1u);
}

using TokenStreamDeathTest = TokenStreamTest;

TEST_F(TokenStreamDeathTest, NothingComesAfterTheEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TokenStream stream(4, Count());
  stream.Finish(FinishReason::kStop, {});
  EXPECT_DEATH(stream.Push(Token(1)), "CHECK failed");
  EXPECT_DEATH(stream.Finish(FinishReason::kStop, {}), "CHECK failed");
  EXPECT_DEATH(TokenStream(0, Count()), "CHECK failed");
}

// The reader sleeps until woken, so that a lost wake-up hangs the test.
TEST_F(TokenStreamTest, AReaderThreadMissesNothing) {
  constexpr TokenId kTokens = 20'000;
  std::mutex mutex;
  std::condition_variable woken;
  bool wake = false;
  TokenStream stream(16, [&] {
    const std::lock_guard lock(mutex);
    wake = true;
    woken.notify_one();
  });
  std::thread engine([&] {
    for (TokenId token = 0; token < kTokens; ++token) {
      while (!stream.Push(Token(token))) std::this_thread::yield();
    }
    stream.Finish(FinishReason::kLength, {});
  });

  TokenId next = 0;
  std::vector<StreamEvent> events;
  for (bool finished = false; !finished;) {
    {
      std::unique_lock lock(mutex);
      woken.wait(lock, [&] { return wake; });
      wake = false;
    }
    stream.Take(events);
    EXPECT_LE(events.size(), 17u);
    for (const StreamEvent& event : events) {
      finished = event.kind == Kind::kFinished;
      if (!finished) {
        EXPECT_EQ(event.token, next++);
      }
    }
  }
  engine.join();
  EXPECT_EQ(next, kTokens);
}

}  // namespace
}  // namespace banyan::scheduler
