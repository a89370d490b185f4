// The generator: what is shared with whom, how lengths are distributed, the same for the same seed.
#include "loadtest/workload/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace banyan::loadtest {
namespace {

using ::testing::SizeIs;

bool SameTurn(const Turn& a, const Turn& b) {
  return a.number == b.number && a.at == b.at && a.think == b.think &&
         a.output_tokens == b.output_tokens &&
         std::equal(a.messages.begin(), a.messages.end(), b.messages.begin(), b.messages.end(),
                    [](const Message& x, const Message& y) {
                      return x.role == y.role && x.text == y.text && x.segments == y.segments;
                    });
}

bool Same(const Workload& a, const Workload& b) {
  return a.source == b.source &&
         std::equal(a.conversations.begin(), a.conversations.end(), b.conversations.begin(),
                    b.conversations.end(), [](const Conversation& x, const Conversation& y) {
                      return x.id == y.id && std::equal(x.turns.begin(), x.turns.end(),
                                                        y.turns.begin(), y.turns.end(), SameTurn);
                    });
}

Workload Make(const GeneratorOptions& options) {
  absl::StatusOr<Workload> workload = Generate(options);
  EXPECT_TRUE(workload.ok()) << workload.status();
  return *std::move(workload);
}

TEST(Generator, MakesTheSameOfTheSameSeedAndElseOfAnother) {
  const GeneratorOptions options{
      .tenants = 3, .turns_vary = true, .think = std::chrono::seconds(2)};
  GeneratorOptions other = options;
  other.seed = 2;
  EXPECT_TRUE(Same(Make(options), Make(options)));
  EXPECT_FALSE(Same(Make(options), Make(other)));
  EXPECT_NE(Make(options).conversations[0].turns[0].messages[0].segments[0].key,
            Make(other).conversations[0].turns[0].messages[0].segments[0].key);
}

// Another machine must make the same: these numbers were printed by the first one.
TEST(Generator, WhatASeedMeansIsFixed) {
  const Workload workload = Make({.turns_vary = true, .persona = {400, 0.5}});
  std::int64_t turns = 0, products = 0;
  for (const Conversation& conversation : workload.conversations) {
    for (const Turn& turn : conversation.turns) {
      ++turns;
      products += turn.messages.back().segments[0].tokens * turn.output_tokens;
    }
  }
  EXPECT_EQ(turns, 473);
  EXPECT_EQ(products, 1'793'001);
}

TEST(Generator, APromptBeginsWithWhatAllShareAndThenItsPersona) {
  const Workload workload = Make({.personas = 2, .conversations = 50, .turns = 2});
  std::set<Segment, decltype([](const Segment& a, const Segment& b) { return a.key < b.key; })>
      personas;
  std::set<std::uint64_t> questions;
  for (const Conversation& conversation : workload.conversations) {
    ASSERT_THAT(conversation.turns, SizeIs(2));
    const Turn& first = conversation.turns[0];
    ASSERT_THAT(first.messages, SizeIs(2));
    EXPECT_EQ(first.messages[0].role, Role::kSystem);
    ASSERT_THAT(first.messages[0].segments, SizeIs(2));
    EXPECT_EQ(first.messages[0].segments[0],
              workload.conversations[0].turns[0].messages[0].segments[0]);
    EXPECT_EQ(first.messages[0].segments[0].tokens, 64);
    EXPECT_EQ(first.messages[0].segments[1].tokens, 400);
    personas.insert(first.messages[0].segments[1]);
    EXPECT_EQ(first.messages[1].role, Role::kUser);
    ASSERT_THAT(conversation.turns[1].messages, SizeIs(1));
    EXPECT_EQ(conversation.turns[1].number, 2);
    for (const Turn& turn : conversation.turns) {
      questions.insert(turn.messages.back().segments[0].key);
      EXPECT_EQ(turn.at, std::nullopt);
      EXPECT_EQ(turn.think, Tick(0));
    }
  }
  EXPECT_THAT(personas, SizeIs(2));
  EXPECT_THAT(questions, SizeIs(100)) << "no question is asked twice";
}

TEST(Generator, WithoutSharedTokensAPromptBeginsWithItsPersona) {
  const Workload workload = Make({.shared_tokens = 0});
  EXPECT_THAT(workload.conversations[0].turns[0].messages[0].segments, SizeIs(1));
}

TEST(Generator, APersonaHasOneLengthWhoeverTalksToIt) {
  const Workload workload = Make({.tenants = 4,
                                  .personas = 5,
                                  .conversations = 2000,
                                  .turns = 1,
                                  .zipf = 0,
                                  .persona = {400, 1}});
  std::map<std::uint64_t, std::set<std::int32_t>> lengths;
  std::set<std::int32_t> all;
  for (const Conversation& conversation : workload.conversations) {
    const Segment& persona = conversation.turns[0].messages[0].segments[1];
    lengths[persona.key].insert(persona.tokens);
    all.insert(persona.tokens);
  }
  EXPECT_THAT(lengths, SizeIs(20)) << "personas of different tenants differ";
  for (const auto& [key, of_one] : lengths) EXPECT_THAT(of_one, SizeIs(1));
  EXPECT_GT(all.size(), 10U);
}

TEST(Generator, PopularityFollowsZipf) {
  const Workload workload = Make({.personas = 10, .conversations = 20'000, .turns = 1, .zipf = 1});
  std::map<std::uint64_t, int> counts;
  for (const Conversation& conversation : workload.conversations) {
    ++counts[conversation.turns[0].messages[0].segments[1].key];
  }
  std::vector<int> sorted;
  for (const auto& [key, count] : counts) sorted.push_back(count);
  std::sort(sorted.rbegin(), sorted.rend());
  // The harmonic number of 10 is 2.929.
  EXPECT_NEAR(sorted[0], 20'000 / 2.929, 300);
  EXPECT_NEAR(sorted[1], 20'000 / 2.929 / 2, 250);
  EXPECT_NEAR(sorted[9], 20'000 / 2.929 / 10, 130);
}

TEST(Generator, LengthsAreLogNormalAndCut) {
  const Workload workload =
      Make({.conversations = 20'000, .turns = 1, .question = {100, 0.6}, .answer = {2, 3}});
  double sum = 0, squares = 0;
  std::int64_t shortest = 1000, longest = 0;
  for (const Conversation& conversation : workload.conversations) {
    const double log = std::log(conversation.turns[0].messages[1].segments[0].tokens);
    sum += log;
    squares += log * log;
    shortest = std::min(shortest, conversation.turns[0].output_tokens);
    longest = std::max(longest, conversation.turns[0].output_tokens);
  }
  const double mean = sum / 20'000;
  EXPECT_NEAR(mean, std::log(100), 0.022);
  EXPECT_NEAR(std::sqrt(squares / 20'000 - mean * mean), 0.6, 0.016);
  EXPECT_EQ(shortest, 1);
  EXPECT_EQ(longest, 64) << "32 times the median";
}

TEST(Generator, NumbersOfTurnsAndThinkTimesHaveTheirMeans) {
  const Workload workload = Make(
      {.conversations = 10'000, .turns = 5, .turns_vary = true, .think = std::chrono::seconds(3)});
  EXPECT_NEAR(static_cast<double>(CountTurns(workload)) / 10'000, 5, 0.25);
  double think = 0;
  std::int64_t thoughts = 0;
  for (const Conversation& conversation : workload.conversations) {
    EXPECT_EQ(conversation.turns[0].think, Tick(0));
    for (std::size_t i = 1; i < conversation.turns.size(); ++i, ++thoughts) {
      think += Seconds(conversation.turns[i].think);
    }
  }
  EXPECT_NEAR(think / static_cast<double>(thoughts), 3, 0.08);
}

TEST(Generator, ParametersOutOfBoundsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](GeneratorOptions options) {
    return absl::IsInvalidArgument(Generate(options).status());
  };
  EXPECT_FALSE(refused({}));
  EXPECT_TRUE(refused({.tenants = 0}));
  EXPECT_TRUE(refused({.tenants = 1'000'001}));
  EXPECT_TRUE(refused({.personas = 0}));
  EXPECT_TRUE(refused({.conversations = 0}));
  EXPECT_TRUE(refused({.conversations = 10'000'001, .turns = 1}));
  EXPECT_TRUE(refused({.turns = 0}));
  EXPECT_TRUE(refused({.conversations = 4, .turns = 5'000'001}));
  EXPECT_TRUE(refused({.zipf = -0.1}));
  EXPECT_TRUE(refused({.zipf = nan}));
  EXPECT_TRUE(refused({.shared_tokens = -1}));
  EXPECT_TRUE(refused({.shared_tokens = (1 << 24) + 1}));
  EXPECT_TRUE(refused({.persona = {0.9, 0}}));
  EXPECT_TRUE(refused({.question = {nan, 0}}));
  EXPECT_TRUE(refused({.answer = {16777217, 0}}));
  EXPECT_TRUE(refused({.answer = {1, -1}}));
  EXPECT_TRUE(refused({.answer = {1, nan}}));
  EXPECT_TRUE(refused({.think = Tick(-1)}));
  EXPECT_FALSE(refused({.conversations = 1,
                        .turns = 1,
                        .zipf = 16,
                        .shared_tokens = 1 << 24,
                        .persona = {16777216, 10},
                        .question = {1, 0}}));
}

}  // namespace
}  // namespace banyan::loadtest
