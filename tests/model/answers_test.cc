// What a row's logits become in the result.
#include "model/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/model/sampling_oracle.h"

namespace banyan::model {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int32_t kVocabulary = 20;
const std::vector<TokenId> kTokens = {1, 2, 3};

class AnswersTest : public ::testing::Test {
 protected:
  AnswersTest() : answers_(kVocabulary) {
    Sequence& sequence = batch_.sequences.emplace_back();
    sequence.tokens = kTokens;
    sequence.logits = Logits::kSampleLast;
    sequence.sampling.temperature = 0;
    result_.sequences.resize(1);
  }

  absl::Status Give(std::size_t token, const std::vector<float>& logits) {
    std::copy(logits.begin(), logits.end(), answers_.logits().begin());
    return answers_.Give(batch_, {.row = 0, .sequence = 0, .token = token}, result_);
  }

  Sequence& sequence() { return batch_.sequences[0]; }
  const SequenceResult& out() const { return result_.sequences[0]; }

  Answers answers_;
  Batch batch_;
  StepResult result_;
  std::vector<float> logits_ = SomeLogits(kVocabulary, 3);
};

TEST_F(AnswersTest, SampleAfterTheLastToken) {
  for (std::size_t token = 0; token < 3; ++token) {
    ASSERT_TRUE(Give(token, logits_).ok());
    EXPECT_EQ(out().token >= 0, token == 2);
  }
  EXPECT_EQ(out().token, std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
  EXPECT_THAT(out().top, IsEmpty());
  EXPECT_THAT(out().scores, IsEmpty());
  EXPECT_THAT(out().logits, IsEmpty());
}

TEST_F(AnswersTest, GiveTheDrawnTokensLogProbabilityAlsoWhereItIsNoneOfTheTop) {
  const std::vector<TokenId> all_but_last = {0,  1,  2,  3,  4,  5,  6,  7,  8, 9,
                                             10, 11, 12, 13, 14, 15, 16, 17, 18};
  sequence().forbidden = all_but_last;
  sequence().top_logprobs = 2;
  logits_[19] = -9;
  ASSERT_TRUE(Give(2, logits_).ok());
  LogProbabilities row;
  row.Read(logits_);
  EXPECT_EQ(out().token, 19);
  EXPECT_EQ(out().log_probability, row.Of(19)) << "under the logits as they came";
  ASSERT_THAT(out().top, SizeIs(2));
  std::vector<TokenLogprob> top;
  row.Top(2, top);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(out().top[i].token, top[i].token);
    EXPECT_EQ(out().top[i].log_probability, top[i].log_probability);
  }
}

TEST_F(AnswersTest, LeaveOutLogProbabilitiesThatNobodyWants) {
  sequence().wants_logprob = false;
  ASSERT_TRUE(Give(2, logits_).ok());
  EXPECT_EQ(out().token, std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
  EXPECT_EQ(out().log_probability, 0);
  EXPECT_THAT(out().top, IsEmpty());
}

TEST_F(AnswersTest, GiveTheGreatestOfLogitsThatNobodySees) {
  const LogitRow row{.row = 0, .sequence = 0, .token = 2};
  ASSERT_TRUE(Answers::GiveGreatest(7, row, result_).ok());
  EXPECT_EQ(out().token, 7);
  EXPECT_EQ(Answers::GiveGreatest(-1, row, result_),
            Give(2,
                 [&] {
                   std::vector<float> logits = logits_;
                   logits[3] = std::numeric_limits<float>::quiet_NaN();
                   return logits;
                 }()))
      << "the same error as with all of them";
}

TEST(PlainlyGreedy, IsWhoeverAsksForNothingElse) {
  const std::vector<TokenId> tokens = {1};
  const std::vector<TokenBias> bias = {{1, 1}};
  const std::vector<std::uint64_t> mask = {1};
  Sequence plain{.logits = Logits::kSampleLast, .wants_logprob = false};
  plain.sampling.temperature = 0;
  EXPECT_TRUE(plain.is_plainly_greedy());
  const auto with = [&](auto change) {
    Sequence other = plain;
    change(other);
    return other.is_plainly_greedy();
  };
  EXPECT_FALSE(with([](Sequence& s) { s.logits = Logits::kReturnAll; }));
  EXPECT_FALSE(with([](Sequence& s) { s.logits = Logits::kNone; }));
  EXPECT_FALSE(with([](Sequence& s) { s.sampling.temperature = 0.1F; }));
  EXPECT_FALSE(with([](Sequence& s) { s.sampling.repetition_penalty = 1.1F; }));
  EXPECT_FALSE(with([](Sequence& s) { s.wants_logprob = true; }));
  EXPECT_FALSE(with([&](Sequence& s) { s.logit_bias = bias; }));
  EXPECT_FALSE(with([&](Sequence& s) { s.forbidden = tokens; }));
  EXPECT_FALSE(with([&](Sequence& s) { s.scored = tokens; }));
  EXPECT_FALSE(with([&](Sequence& s) { s.token_mask = mask; }));
}

TEST_F(AnswersTest, ScoreTheTokensThatFollow) {
  const std::vector<TokenId> scored = {2, 3};
  sequence().scored = scored;
  sequence().top_logprobs = 3;
  for (const Logits logits : {Logits::kNone, Logits::kSampleLast}) {
    result_.sequences.assign(1, {});
    sequence().logits = logits;
    LogProbabilities row;
    for (std::size_t token = 0; token < 3; ++token) {
      const std::vector<float> own = SomeLogits(kVocabulary, static_cast<float>(token + 1));
      ASSERT_TRUE(Give(token, own).ok());
      if (token == 2) continue;
      ASSERT_THAT(out().scores, SizeIs(token + 1));
      row.Read(own);
      EXPECT_EQ(out().scores[token].token, scored[token]);
      EXPECT_EQ(out().scores[token].log_probability, row.Of(scored[token]));
      EXPECT_THAT(out().scores[token].top, SizeIs(3));
    }
    EXPECT_THAT(out().scores, SizeIs(2));
    EXPECT_EQ(out().token >= 0, logits == Logits::kSampleLast);
  }
}

TEST_F(AnswersTest, ReturnAllLogits) {
  sequence().logits = Logits::kReturnAll;
  for (std::size_t token = 0; token < 3; ++token) ASSERT_TRUE(Give(token, logits_).ok());
  std::vector<float> thrice;
  for (int i = 0; i < 3; ++i) thrice.insert(thrice.end(), logits_.begin(), logits_.end());
  EXPECT_THAT(out().logits, ElementsAreArray(thrice));
  EXPECT_GE(out().token, 0);
}

TEST_F(AnswersTest, FailOverLogitsThatAreNoNumbers) {
  const std::vector<TokenId> scored = {2};
  sequence().scored = scored;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {0, 8, 19}) {
      std::vector<float> logits = logits_;
      logits[at] = bad;
      for (const std::size_t token : {0, 2}) {
        const absl::Status status = Give(token, logits);
        EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
        EXPECT_EQ(status.message(), "sequence 0: a logit is not a finite number");
      }
    }
  }
}

TEST_F(AnswersTest, FailWhereNothingMayFollow) {
  const std::vector<std::uint64_t> none = {0};
  sequence().token_mask = none;
  EXPECT_EQ(Give(2, logits_).message(),
            "sequence 0: no token may follow: all are masked or forbidden");
}

}  // namespace
}  // namespace banyan::model
