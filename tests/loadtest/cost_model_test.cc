#include "loadtest/simulate/cost_model.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan::loadtest {
namespace {

using ::testing::HasSubstr;

constexpr CostModel kCost{.step = 1e6,
                          .prompt_token = 1000,
                          .prompt_context = 2,
                          .decode_token = 30'000,
                          .decode_context = 40,
                          .request = 5e5};

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
  EXPECT_THAT(message("{"), HasSubstr("JSON object"));
  EXPECT_THAT(message("[1]"), HasSubstr("JSON object"));
  EXPECT_THAT(message(R"({"steps": 1})"), HasSubstr("no 'steps'"));
  EXPECT_THAT(message(R"({"step": "1"})"), HasSubstr("'step' of a cost model is no number"));
  EXPECT_THAT(message(R"({"step": -1})"), HasSubstr("not from 0 to a day"));
  EXPECT_THAT(message(R"({"step": 86400000000001})"), HasSubstr("not from 0 to a day"));
  EXPECT_TRUE(ParseCostModel(R"({"step": 86400000000000})").ok());
}

}  // namespace
}  // namespace banyan::loadtest
