// Axes, plots and pages: what is in them, not how they look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "loadtest/report/axis.h"
#include "loadtest/report/compare.h"
#include "loadtest/report/plot.h"
#include "loadtest/report/report.h"
#include "tests/loadtest/synthetic.h"
#include "tests/loadtest/xml.h"

namespace banyan::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Labels(const Axis& axis, const std::vector<double>& values) {
  std::vector<std::string> labels;
  const Projection projection(axis, values, 100, 5);
  for (const auto& tick : projection.ticks()) labels.push_back(tick.label);
  return labels;
}

Axis Of(Scale scale) {
  Axis axis;
  axis.scale = scale;
  return axis;
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Axis, TicksAreRoundAndBeginAtZeroWhereThatIsNear) {
  EXPECT_THAT(Labels({}, {1, 9}), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(Labels({}, {100, 104}), ElementsAre("100", "101", "102", "103", "104"));
  EXPECT_THAT(Labels({}, {-3, 3}), ElementsAre("-4", "-2", "0", "2", "4"));
  EXPECT_THAT(Labels({}, {0, 0.3}), ElementsAre("0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(Labels({}, {0, 48000}), ElementsAre("0", "10k", "20k", "30k", "40k", "50k"));
}

TEST(Axis, OneValueOrNoneStillHasAnAxis) {
  EXPECT_THAT(Labels({}, {0}), Not(IsEmpty()));
  EXPECT_THAT(Labels({}, {7}), Not(IsEmpty()));
  EXPECT_THAT(Labels({}, {-7}), Not(IsEmpty()));
  EXPECT_THAT(Labels(Of(Scale::kLog), {7}), Not(IsEmpty()));
  EXPECT_THAT(Labels(Of(Scale::kTail), {0}), Not(IsEmpty()));
  const Projection none({}, {std::nan("")}, 100, 5);
  EXPECT_FALSE(none.any());
  EXPECT_TRUE(std::isfinite(none.At(0.5)));
}

TEST(Axis, LogarithmsGoByDecadesWithTwoAndFiveWhereThereIsRoom) {
  EXPECT_THAT(Labels(Of(Scale::kLog), {1, 10}), ElementsAre("1", "2", "5", "10"));
  EXPECT_THAT(Labels(Of(Scale::kLog), {1, 1e5}),
              ElementsAre("1", "10", "100", "1k", "10k", "100k"));
  EXPECT_THAT(Labels(Of(Scale::kLog), {40, 60}), ElementsAre("20", "40", "60", "80", "100"));
  // Values without a logarithm are not placed.
  const Projection log(Of(Scale::kLog), {-1, 0, 1, 100}, 100, 5);
  EXPECT_FALSE(log.Places(0));
  EXPECT_FALSE(log.Places(-1));
  EXPECT_DOUBLE_EQ(log.At(1), 0);
  EXPECT_DOUBLE_EQ(log.At(10), 50);
  EXPECT_DOUBLE_EQ(log.At(100), 100);
}

TEST(Axis, EachNineOfATailIsAsWide) {
  const Projection tail(Of(Scale::kTail), {0, 0.999}, 90, 5);
  EXPECT_NEAR(tail.At(0), 0, 1e-9);
  EXPECT_NEAR(tail.At(0.9), 30, 1e-9);
  EXPECT_NEAR(tail.At(0.99), 60, 1e-9);
  EXPECT_FALSE(tail.Places(1));
  EXPECT_THAT(Labels(Of(Scale::kTail), {0.999}), ElementsAre("p0", "p50", "p90", "p99", "p99.9"));
}

TEST(Axis, BoundsThatAreGivenAreKept) {
  Axis percent;
  percent.from = 0;
  percent.to = 100;
  const Projection axis(percent, {40, 60}, 100, 5);
  EXPECT_DOUBLE_EQ(axis.At(0), 0);
  EXPECT_DOUBLE_EQ(axis.At(100), 100);
  Axis turns;
  turns.from = 1;
  turns.whole = true;
  EXPECT_THAT(Labels(turns, {1, 2}), ElementsAre("1", "2"));
}

TEST(Axis, EndsForWildValues) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog, Scale::kTail}) {
    for (const double value : {1e-320, 1e-200, 1e200, 1e308, -1e308, 1e16}) {
      const Projection axis(Of(scale), {1, value}, 100, 5);
      EXPECT_LE(axis.ticks().size(), 60) << value;
      EXPECT_TRUE(std::isfinite(axis.At(1))) << value;
    }
  }
}

Plot Simple() {
  Plot plot;
  plot.title = "a < b & \"c\"";
  plot.x.label = "x";
  plot.y.label = "y";
  Series series;
  series.name = "one";
  series.x = {0, 1, 2, 3, 4};
  series.y = {0, 1, std::nan(""), 3, 4};
  plot.series.push_back(series);
  return plot;
}

TEST(Plot, IsWellFormedAndEscapes) {
  const std::string svg = Svg(Simple());
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, HasSubstr("<title>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(Plot, AGapLiftsThePen) {
  const std::string svg = Svg(Simple());
  std::smatch line;
  ASSERT_TRUE(std::regex_search(svg, line,
                                std::regex("class=\"line s0\" d=\"(M[^\"]*4[^\"]*)\"/></svg><")));
  EXPECT_EQ(Count(line[1], "M"), 2);
  EXPECT_EQ(Count(line[1], "L"), 2);
}

TEST(Plot, APointBetweenGapsIsADot) {
  const double gap = std::numeric_limits<double>::quiet_NaN();
  Plot plot;
  plot.series.push_back({"", Series::Mark::kLine, {1, 2, 3, 4, 5}, {1, gap, 2, 2, gap}, {}});
  const std::string svg = Svg(plot);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(svg, found, std::regex("class=\"line s0\" d=\"([^\"]*)\"")));
  EXPECT_EQ(Count(found[1], "M"), 1);
  ASSERT_TRUE(std::regex_search(svg, found, std::regex("class=\"points s0\" d=\"([^\"]*)\"")));
  EXPECT_EQ(Count(found[1], "h0"), 1);
}

TEST(Plot, WithoutAPointSaysSo) {
  Plot plot = Simple();
  plot.series.front().y.assign(5, std::nan(""));
  EXPECT_THAT(Svg(plot), HasSubstr("nothing to show"));
  EXPECT_EQ(XmlFault(Svg(plot)), "");
  EXPECT_THAT(Svg(Plot()), HasSubstr("nothing to show"));
}

TEST(Plot, StepsGoAcrossBeforeTheyGoUp) {
  Plot plot = Simple();
  plot.series.front().mark = Series::Mark::kSteps;
  EXPECT_THAT(Svg(plot), Not(HasSubstr("L")));
  EXPECT_EQ(XmlFault(Svg(plot)), "");
}

std::size_t Drawn(std::size_t points) {
  Plot plot;
  Series series;
  series.mark = Series::Mark::kPoints;
  series.x.assign(points, 1);
  series.y.assign(points, 2);
  plot.series.push_back(series);
  const std::string svg = Svg(plot);
  EXPECT_EQ(svg.find("is drawn") != std::string::npos, points > kMostPoints) << points;
  return Count(svg, "h0");
}

TEST(Plot, ThinsPointsAboveTheBoundAndSaysSo) {
  EXPECT_EQ(Drawn(kMostPoints - 1), kMostPoints - 1);
  EXPECT_EQ(Drawn(kMostPoints), kMostPoints);
  EXPECT_EQ(Drawn(kMostPoints + 1), (kMostPoints + 2) / 2);
  EXPECT_LE(Drawn(100 * kMostPoints), kMostPoints);
}

TEST(Plot, ALineThatIsThinnedKeepsItsPeaks) {
  Plot plot;
  Series series;
  for (std::size_t i = 0; i < 10 * kMostPoints; ++i) {
    series.x.push_back(static_cast<double>(i));
    series.y.push_back(i == 12345 ? 1000 : i == 23456 ? -1000 : 0);
  }
  plot.series.push_back(series);
  plot.y.from = -1000;
  plot.y.to = 1000;
  const std::string svg = Svg(plot);
  EXPECT_LE(Count(svg, "L"), kMostPoints);
  EXPECT_THAT(svg, HasSubstr(" 0.0L"));
  EXPECT_THAT(svg, HasSubstr(" 200.0L"));
}

TEST(Plot, ColoursPointsByTheirValue) {
  Plot plot;
  Series series;
  series.mark = Series::Mark::kPoints;
  series.x = series.y = {1, 2, 3, 4};
  series.colour = {0, 1, std::nan(""), 0.5};
  plot.series.push_back(series);
  plot.colour_label = "cached";
  const std::string svg = Svg(plot);
  for (const char* part :
       {"points c0\"", "points c5\"", "points c3\"", "points unknown\"", "cached"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
}

TEST(PlotDeathTest, MoreSeriesThanCanBeToldApartAreTheCallersError) {
  Plot plot;
  plot.series.resize(kMostSeries);
  EXPECT_EQ(XmlFault(Svg(plot)), "");
  plot.series.resize(kMostSeries + 1);
  EXPECT_DEATH(Svg(plot), "CHECK failed");
}

// What holds of every page.
void Check(const std::string& page) {
  EXPECT_EQ(XmlFault(page), "");
  for (const char* loads : {"src=", "href=", "url(", "@import", "<script", "<link"}) {
    EXPECT_THAT(page, Not(HasSubstr(loads)));
  }
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
  for (std::size_t at = page.find(" d=\""); at != std::string::npos;
       at = page.find(" d=\"", at + 1)) {
    const std::string path = page.substr(at + 4, page.find('"', at + 4) - at - 4);
    EXPECT_EQ(path.find_first_not_of("MLHVh0123456789.- "), std::string::npos) << path;
  }
}

TEST(Page, OfARunHasItsPlotsAndItsFacts) {
  const std::string page = Page({Synthetic({})});
  Check(page);
  EXPECT_EQ(Count(page, "<figure"), 11);
  EXPECT_THAT(page, Not(HasSubstr("nothing to show")));
  EXPECT_THAT(page, HasSubstr("Load test of example-135m &lt;instruct&gt;"));
  EXPECT_THAT(page, HasSubstr("warm-up ends"));
  EXPECT_THAT(page, HasSubstr("part of the prompt cached"));
  EXPECT_THAT(page, Not(HasSubstr("The sweep")));
}

TEST(Page, OfAServerThatTellsNothingIsWholeToo) {
  SyntheticOptions options;
  options.tells_usage = options.has_metrics = false;
  const std::string page = Page({Synthetic(options)});
  Check(page);
  EXPECT_THAT(page, HasSubstr("The server did not tell its tokens"));
}

TEST(Page, OfNothingIsAPage) { Check(Page({Report()})); }

TEST(Page, OfASweepHasCurvesOverItsStepsThenTheLastAlone) {
  std::vector<Report> steps;
  for (const double rate : {2, 4, 8}) {
    SyntheticOptions options;
    options.conversations = 40;
    options.rate = rate;
    steps.push_back(Synthetic(options));
    steps.back().result.facts.emplace_back("load", rate == 8 ? "the most" : "less");
  }
  const std::string page = Page(steps);
  Check(page);
  EXPECT_THAT(page, HasSubstr("The sweep"));
  EXPECT_THAT(page, HasSubstr("3: the most"));
  EXPECT_EQ(Count(page, "<figure"), 15);
}

TEST(Page, OfAHundredThousandRequestsIsNotLarge) {
  SyntheticOptions options;
  options.conversations = 100;
  options.turns = 4;
  Report report = Synthetic(options);
  std::vector<Record>& records = report.result.records;
  const std::size_t some = records.size();
  while (records.size() < 100'000) {
    records.push_back(records[records.size() % some]);
    records.back().scheduled += std::chrono::seconds(1);
    records.back().sent += std::chrono::seconds(1);
  }
  const std::string page = Page({report});
  EXPECT_LT(page.size(), 1'000'000);
  EXPECT_THAT(page, HasSubstr("points is drawn"));
}

TEST(Page, LongTimesAreSeconds) {
  SyntheticOptions options;
  EXPECT_THAT(Page({Synthetic(options)}), HasSubstr(">ms, from sent<"));
  options.slowness = 1000;
  const std::string page = Page({Synthetic(options)});
  EXPECT_THAT(page, HasSubstr(">s, from sent<"));
  EXPECT_THAT(page, Not(HasSubstr(">ms, from sent<")));
}

TEST(Page, WhatOthersWroteIsEscaped) {
  Report report = Synthetic({});
  report.result.facts = {{"model", "</style><script>alert(1)</script>\x01\xff"}};
  const std::string page = Page({report});
  Check(page);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
}

TEST(ComparePage, HasBothSidesInItsPlots) {
  SyntheticOptions faster;
  faster.slowness = 0.7;
  const Report a = Synthetic({});
  const Report b = Synthetic(faster);
  const std::string page = ComparePage(a, b, Compare(a, b, 1, 50));
  Check(page);
  EXPECT_THAT(page, HasSubstr("A: from scheduled"));
  EXPECT_THAT(page, HasSubstr("B: from scheduled"));
  EXPECT_THAT(page, HasSubstr("B is better"));
  EXPECT_THAT(page, Not(HasSubstr("nothing to show")));
  Check(ComparePage(Report(), Report(), Compare(Report(), Report(), 1, 50)));
}

}  // namespace
}  // namespace banyan::loadtest
