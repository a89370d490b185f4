#include "loadtest/simulate/cost_model.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace banyan::loadtest {
namespace {

constexpr CostModel kCost{.step = 1e6,
                          .prompt_token = 1000,
                          .prompt_context = 2,
                          .decode_token = 30'000,
                          .decode_context = 40,
                          .request = 5e5};

// Whether an error's message has these words.
testing::AssertionResult Names(const std::string& message, const std::string& words) {
  if (message.find(words) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << message;
}

Sequence Rows(const std::vector<TokenId>& tokens, std::int64_t first, Logits logits) {
  Sequence sequence;
  sequence.tokens = tokens;
  sequence.first_position = first;
  sequence.logits = logits;
  return sequence;
}

TEST(CostModel, AStepIsTheSumOfItsRows) {
  const std::vector<TokenId> one(1);
  const std::vector<TokenId> three(3);
  Batch batch;
  batch.sequences.push_back(Rows(three, 10, Logits::kNone));
  EXPECT_EQ(StepTime(kCost, batch), Tick(1'000'000 + 3000 + 2 * (10 + 11 + 12)));
  batch.sequences.push_back(Rows(one, 100, Logits::kSampleLast));
  EXPECT_EQ(StepTime(kCost, batch),
            Tick(1'000'000 + 3000 + 2 * (10 + 11 + 12) + 30'000 + 40 * 100));
}

TEST(CostModel, OneTokenOfAPromptThatGoesOnIsNoDecode) {
  const std::vector<TokenId> one(1);
  Batch batch;
  batch.sequences.push_back(Rows(one, 7, Logits::kNone));
  EXPECT_EQ(StepTime(kCost, batch), Tick(1'000'000 + 1000 + 2 * 7));
}

TEST(CostModel, NothingTakesNoTime) { EXPECT_EQ(StepTime(kCost, Batch()), Tick(0)); }

TEST(CostModel, NoStepTakesMoreThanADay) {
  const std::vector<TokenId> tokens(1000);
  Batch batch;
  batch.sequences.push_back(Rows(tokens, 1 << 30, Logits::kNone));
  EXPECT_EQ(StepTime({.prompt_context = 80000e9}, batch), std::chrono::hours(24));
}

TEST(CostModel, IsReadBackFromItsJson) {
  const auto read = ParseCostModel(Json(kCost));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Json(*read), Json(kCost));
  EXPECT_EQ(read->decode_context, 40);
  EXPECT_EQ(read->request, 5e5);
}

TEST(CostModel, WhatIsLeftOutCostsNothing) {
  const auto read = ParseCostModel(R"({"step": 5})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->step, 5);
  EXPECT_EQ(read->prompt_token, 0);
}

TEST(CostModel, WhatIsWrongIsNamed) {
  const auto message = [](const std::string& json) {
    const auto read = ParseCostModel(json);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << json;
    return std::string(read.status().message());
  };
  EXPECT_TRUE(Names(message("{"), "JSON object"));
  EXPECT_TRUE(Names(message("[1]"), "JSON object"));
  EXPECT_TRUE(Names(message(R"({"steps": 1})"), "no 'steps'"));
  EXPECT_TRUE(Names(message(R"({"step": "1"})"), "'step' of a cost model is no number"));
  EXPECT_TRUE(Names(message(R"({"step": -1})"), "not from 0 to a day"));
  EXPECT_TRUE(Names(message(R"({"step": 86400000000001})"), "not from 0 to a day"));
  EXPECT_TRUE(ParseCostModel(R"({"step": 86400000000000})").ok());
}

}  // namespace
}  // namespace banyan::loadtest
