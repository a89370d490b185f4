#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "text/stream.h"

namespace banyan::text {
namespace {

struct Result {
  std::string text;
  bool stopped = false;
};

// The definition: try every end from the left, and at each the stop string that starts first.
Result Naive(const std::vector<std::string>& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    for (std::size_t begin = 0; begin < end; ++begin) {
      for (const std::string& stop : stops) {
        if (text.compare(begin, end - begin, stop) == 0) return {text.substr(0, begin), true};
      }
    }
  }
  return {text, false};
}

// The longest end of `text` that begins a stop string.
std::size_t OpenBytes(const std::vector<std::string>& stops, const std::string& text) {
  std::size_t open = 0;
  for (const std::string& stop : stops) {
    for (std::size_t n = 1; n < stop.size() && n <= text.size(); ++n) {
      if (text.ends_with(stop.substr(0, n))) open = std::max(open, n);
    }
  }
  return open;
}

TEST(StopMatcher, FindsAStopAcrossPushes) {
  StopMatcher matcher({"END"});
  EXPECT_EQ(matcher.Push("one E").text, "one ");
  EXPECT_EQ(matcher.Push("N").text, "");
  const StopMatcher::Output output = matcher.Push("D two");
  EXPECT_TRUE(output.stopped);
  EXPECT_EQ(output.text, "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, WhatBeganAStopAndIsNoneComesLater) {
  StopMatcher matcher({"abcabd"});
  EXPECT_EQ(matcher.Push("xabcab").text, "x");
  EXPECT_EQ(matcher.Push("c").text, "abc");  // "abc" may still begin one
  EXPECT_EQ(matcher.Push("").text, "");
  EXPECT_EQ(matcher.Finish(), "abc");
}

TEST(StopMatcher, TheStopThatEndsFirstWinsThenTheOneThatStartsFirst) {
  StopMatcher first({"abcdef", "cd"});
  StopMatcher::Output output = first.Push("xabcdef");
  EXPECT_TRUE(output.stopped);
  EXPECT_EQ(output.text, "xab");
  StopMatcher together({"cd", "abcd", "d"});
  output = together.Push("xabcd");
  EXPECT_TRUE(output.stopped);
  EXPECT_EQ(output.text, "x");
}

TEST(StopMatcher, NothingComesAfterAStop) {
  StopMatcher matcher({"s"});
  EXPECT_TRUE(matcher.Push("as").stopped);
  const StopMatcher::Output after = matcher.Push("more");
  EXPECT_TRUE(after.stopped);
  EXPECT_EQ(after.text, "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, WithoutStopsTextPassesThrough) {
  StopMatcher matcher({});
  EXPECT_EQ(matcher.Push("abc").text, "abc");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, AnySplitAgreesWithTheDefinitionAndLeaksNoPrefix) {
  std::mt19937 random(5);
  const auto word = [&](std::size_t longest) {
    std::string text;
    for (std::size_t i = 1 + random() % longest; i > 0; --i) {
      text.push_back(static_cast<char>('a' + random() % 2));
    }
    return text;
  };
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::string> stops(1 + random() % 4);
    for (std::string& stop : stops) stop = word(1) + word(6);
    const std::string text = word(24);
    const Result expected = Naive(stops, text);
    StopMatcher matcher(stops);
    std::string sent;
    bool stopped = false;
    for (std::size_t at = 0; at < text.size() && !stopped;) {
      const std::size_t length = std::min<std::size_t>(random() % 4, text.size() - at);
      const StopMatcher::Output output = matcher.Push(text.substr(at, length));
      at += length;
      sent += output.text;
      stopped = output.stopped;
      if (stopped) break;
      // Held back is exactly what may still become a stop: no more, no less.
      const std::string so_far = text.substr(0, at);
      ASSERT_EQ(sent, so_far.substr(0, at - OpenBytes(stops, so_far)));
    }
    sent += matcher.Finish();
    ASSERT_EQ(sent, expected.text) << testing::PrintToString(stops) << " in " << text;
    ASSERT_EQ(stopped, expected.stopped);
  }
}

TEST(StopMatcher, LongStopsThatAlmostMatchHoldBackAtMostTheirLength) {
  std::vector<std::string> stops;
  for (std::size_t i = 0; i < kMaxStopStrings; ++i) {
    stops.push_back(std::string(kMaxStopStringBytes - 1 - i, 'a') + "b");
  }
  stops[0] = std::string(kMaxStopStringBytes - 1, 'a') + "b";
  StopMatcher matcher(stops);
  std::size_t sent = 0;
  constexpr std::size_t kPushes = 20000;
  for (std::size_t i = 0; i < kPushes; ++i) sent += matcher.Push("a").text.size();
  EXPECT_EQ(sent, kPushes - (kMaxStopStringBytes - 1));
  const StopMatcher::Output output = matcher.Push("b");
  EXPECT_TRUE(output.stopped);
  EXPECT_EQ(sent + output.text.size(), kPushes - (kMaxStopStringBytes - 1));
}

TEST(StopMatcherDeathTest, BoundsAreTheCallersToCheck) {
  const std::vector<std::string> most(kMaxStopStrings, std::string(kMaxStopStringBytes, 'x'));
  { const StopMatcher at_the_bound(most); }
  std::vector<std::string> more = most;
  more.push_back("x");
  EXPECT_DEATH(StopMatcher{more}, "kMaxStopStrings");
  EXPECT_DEATH(StopMatcher({std::string(kMaxStopStringBytes + 1, 'x')}), "kMaxStopStringBytes");
  EXPECT_DEATH(StopMatcher({""}), "empty");
}

}  // namespace
}  // namespace banyan::text
