// Log-probabilities of a row as it came from the model.
#include "model/log_probabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/model/sampling_oracle.h"

namespace banyan::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<TokenId> Tokens(const std::vector<TokenLogprob>& top) {
  std::vector<TokenId> tokens;
  for (const TokenLogprob& one : top) tokens.push_back(one.token);
  return tokens;
}

TEST(LogProbabilities, AreThoseOfSoftmax) {
  const std::vector<float> logits = SomeLogits(1003, 9);
  const std::vector<double> p = ExactProbabilities(logits, {});
  LogProbabilities row;
  row.Read(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double want = std::log(p[i]);
    EXPECT_NEAR(row.Of(static_cast<TokenId>(i)), want, 2e-6 * std::max(1.0, -want));
  }
}

TEST(LogProbabilities, OfOneTokenAlone) {
  const std::vector<float> logits = {42};
  LogProbabilities row;
  row.Read(logits);
  EXPECT_EQ(row.Of(0), 0);
}

TEST(LogProbabilities, OfTheImpossibleAreNumbers) {
  const std::vector<float> logits = {0, -3e38F, 3e38F};
  LogProbabilities row;
  row.Read(logits);
  EXPECT_EQ(row.Of(2), 0);
  EXPECT_EQ(row.Of(0), -3e38F);
  EXPECT_TRUE(std::isinf(row.Of(1)) || row.Of(1) < -3e38F);
}

TEST(Top, IsInOrderWithTheLowerIdFirstAmongEquals) {
  const std::vector<float> logits = {1, 3, 2, 3, 1, 2};
  LogProbabilities row;
  row.Read(logits);
  std::vector<TokenLogprob> top = {{7, 7}};
  row.Top(0, top);
  EXPECT_THAT(top, IsEmpty());
  row.Top(1, top);
  EXPECT_THAT(Tokens(top), ElementsAre(1));
  row.Top(3, top);
  EXPECT_THAT(Tokens(top), ElementsAre(1, 3, 2));
  row.Top(5, top);
  EXPECT_THAT(Tokens(top), ElementsAre(1, 3, 2, 5, 0));
  for (const TokenLogprob& one : top) EXPECT_EQ(one.log_probability, row.Of(one.token));
  row.Top(kMaxTopLogprobs, top);
  EXPECT_THAT(Tokens(top), ElementsAre(1, 3, 2, 5, 0, 4)) << "there are no more";
}

}  // namespace
}  // namespace banyan::model
