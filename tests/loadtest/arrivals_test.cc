// When conversations begin: the processes' rates and how uneven their gaps are.
#include "loadtest/workload/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace banyan::loadtest {
namespace {

using ::testing::HasSubstr;

using std::chrono::seconds;

Workload Of(std::size_t conversations) {
  Workload workload{.source = "made up", .conversations = {}, .bad_lines = {}};
  workload.conversations.resize(conversations);
  for (Conversation& conversation : workload.conversations) conversation.turns.resize(2);
  return workload;
}

std::vector<double> GapsOf(const ArrivalOptions& options, std::size_t conversations) {
  Workload workload = Of(conversations);
  const absl::Status status = SetArrivals(options, workload);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < conversations; ++i) {
    gaps.push_back(Seconds(*workload.conversations[i].turns[0].at -
                           *workload.conversations[i - 1].turns[0].at));
  }
  return gaps;
}

struct Moments {
  double mean = 0, variation = 0;  // the coefficient of variation
};

Moments Measure(const std::vector<double>& gaps) {
  double sum = 0, squares = 0;
  for (const double gap : gaps) {
    sum += gap;
    squares += gap * gap;
  }
  const double n = static_cast<double>(gaps.size()), mean = sum / n;
  return {.mean = mean, .variation = std::sqrt(squares / n - mean * mean) / mean};
}

TEST(Arrivals, PoissonGapsAreExponential) {
  const Moments moments = Measure(GapsOf({.arrivals = Arrivals::kPoisson, .rate = 4}, 50'000));
  EXPECT_NEAR(moments.mean, 0.25, 0.006);
  EXPECT_NEAR(moments.variation, 1, 0.03);
}

TEST(Arrivals, GammaGapsAreAsUnevenAsAsked) {
  for (const double burstiness : {0.25, 1.0, 4.0}) {
    const Moments moments = Measure(
        GapsOf({.arrivals = Arrivals::kGamma, .rate = 10, .burstiness = burstiness}, 50'000));
    EXPECT_NEAR(moments.mean, 0.1, 0.0025 / std::sqrt(burstiness)) << burstiness;
    EXPECT_NEAR(moments.variation * std::sqrt(burstiness), 1, 0.04) << burstiness;
  }
}

TEST(Arrivals, ConstantGapsAreEqual) {
  for (const double gap : GapsOf({.arrivals = Arrivals::kConstant, .rate = 8}, 100)) {
    EXPECT_EQ(gap, 0.125);
  }
}

TEST(Arrivals, BeginAtOnceAndAreTheSameForTheSameSeed) {
  for (const Arrivals arrivals : {Arrivals::kPoisson, Arrivals::kGamma, Arrivals::kConstant}) {
    Workload workload = Of(1);
    ASSERT_TRUE(SetArrivals({.arrivals = arrivals}, workload).ok());
    EXPECT_EQ(workload.conversations[0].turns[0].at, Tick(0));
    EXPECT_EQ(workload.conversations[0].turns[1].at, std::nullopt);
  }
  const ArrivalOptions poisson{.arrivals = Arrivals::kPoisson, .seed = 7};
  ArrivalOptions other = poisson;
  other.seed = 8;
  EXPECT_EQ(GapsOf(poisson, 100), GapsOf(poisson, 100));
  EXPECT_NE(GapsOf(poisson, 100), GapsOf(other, 100));
}

// At rate 10 after a ramp of 4 s, 20 arrivals fall into the ramp: by t there are 10 t^2 / 8.
TEST(Arrivals, TheRateGrowsLinearlyOverTheRamp) {
  Workload workload = Of(41);
  ASSERT_TRUE(
      SetArrivals({.arrivals = Arrivals::kConstant, .rate = 10, .ramp = seconds(4)}, workload)
          .ok());
  const auto at = [&](std::size_t i) { return Seconds(*workload.conversations[i].turns[0].at); };
  EXPECT_EQ(at(0), 0);
  EXPECT_NEAR(at(5), 2, 1e-9);
  EXPECT_NEAR(at(19), std::sqrt(19 * 0.8), 1e-9);
  EXPECT_NEAR(at(20), 4, 1e-9);
  EXPECT_NEAR(at(21), 4.1, 1e-9);
  EXPECT_NEAR(at(40), 6, 1e-9);
}

TEST(Arrivals, LaterTurnsKeepTheirThinkTimesOrTheirDistance) {
  Workload workload = Of(2);
  workload.conversations[1].turns[0].at = seconds(100);
  workload.conversations[1].turns[1].at = seconds(130);
  workload.conversations[0].turns[0].at = seconds(90);
  workload.conversations[0].turns[1].think = seconds(7);
  ASSERT_TRUE(SetArrivals({.arrivals = Arrivals::kConstant, .rate = 0.5}, workload).ok());
  EXPECT_EQ(workload.conversations[0].turns[1].at, std::nullopt);
  EXPECT_EQ(workload.conversations[0].turns[1].think, seconds(7));
  EXPECT_EQ(workload.conversations[1].turns[0].at, seconds(2));
  EXPECT_EQ(workload.conversations[1].turns[1].at, seconds(32));
}

TEST(Arrivals, ATracesOwnTimesAreOnlyChecked) {
  Workload workload = Of(2);
  for (Conversation& conversation : workload.conversations) conversation.turns[0].at = seconds(3);
  EXPECT_TRUE(SetArrivals({}, workload).ok());
  EXPECT_EQ(workload.conversations[0].turns[0].at, seconds(3));
  workload.conversations[1].turns[0].at.reset();
  const absl::Status status = SetArrivals({}, workload);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("made up does not say when requests were sent"));
}

TEST(Arrivals, OptionsOutOfBoundsAreRefused) {
  Workload workload = Of(2);
  const auto refused = [&](ArrivalOptions options) {
    options.arrivals = Arrivals::kGamma;
    return absl::IsInvalidArgument(SetArrivals(options, workload));
  };
  EXPECT_FALSE(refused({}));
  EXPECT_TRUE(refused({.rate = 0}));
  EXPECT_TRUE(refused({.rate = -1}));
  EXPECT_TRUE(refused({.rate = 1.1e6}));
  EXPECT_TRUE(refused({.rate = std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_TRUE(refused({.burstiness = 0}));
  EXPECT_TRUE(refused({.burstiness = std::numeric_limits<double>::infinity()}));
  EXPECT_TRUE(refused({.ramp = Tick(-1)}));
  EXPECT_FALSE(refused({.rate = 1e6, .burstiness = 1e-3}));
}

TEST(Arrivals, ThatLastForCenturiesAreRefused) {
  Workload workload = Of(10'000);
  EXPECT_TRUE(absl::IsInvalidArgument(
      SetArrivals({.arrivals = Arrivals::kConstant, .rate = 1e-6}, workload)));
}

}  // namespace
}  // namespace banyan::loadtest
