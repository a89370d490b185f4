#include "loadtest/simulate/simulate_report.h"

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/loadtest/simulate_fixture.h"

namespace banyan::loadtest {
namespace {

SimulatedRow Row(std::int64_t pool_pages, double hit_rate,
                 radix::Eviction eviction = radix::Eviction::kLru) {
  SimulatedRow row;
  row.pool_pages = pool_pages;
  row.page_tokens = 16;
  row.hit_rate = hit_rate;
  row.eviction = eviction;
  return row;
}

SimulateReport Serial(std::vector<SimulatedRow> rows) {
  SimulateReport report;
  report.source = "by hand";
  report.serial = true;
  report.rows = std::move(rows);
  return report;
}

// Two small runs of the event loop.
SimulateReport Full() {
  const Workload workload = RandomWorkload(5, 30);
  SimulateReport report;
  report.source = "random";
  report.cost = {.step = 1e6, .prompt_token = 1000, .decode_token = 10'000};
  report.slo.ttft = std::chrono::milliseconds(5);
  report.kv_bytes_per_token = 1 << 20;
  for (const std::int64_t pages : {256, 0}) {
    SimulateOptions options;
    options.page_tokens = 4;
    options.pool_pages = pages;
    options.cost = report.cost;
    options.slo = report.slo;
    report.rows.push_back(*Simulate(workload, options));
  }
  return report;
}

using Rows = std::vector<std::size_t>;

TEST(SimulateReport, ACurveIsInOrderOfItsPoolsAndTheUnlimitedOneIsLast) {
  const auto curves = Curves(Serial({Row(0, 0.5), Row(100, 0.49), Row(10, 0.4)}));
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].rows, (Rows{2, 1, 0}));
}

TEST(SimulateReport, TheKneeIsTheSmallestPoolWithAlmostAllHits) {
  const auto knee = [](double small, double large) {
    return *Curves(Serial({Row(10, small), Row(100, large), Row(0, 0.5)}))[0].knee;
  };
  EXPECT_EQ(knee(0.48, 0.49), 0U);
  EXPECT_EQ(knee(0.475, 0.49), 0U) << "95% are enough";
  EXPECT_EQ(knee(0.474, 0.49), 1U);
  EXPECT_EQ(knee(0.1, 0.2), 2U);
}

TEST(SimulateReport, PoliciesAreCurvesOfTheirOwn) {
  const auto curves = Curves(Serial({Row(10, 0.1), Row(10, 0.2, radix::Eviction::kReuse),
                                     Row(20, 0.3), Row(20, 0.4, radix::Eviction::kReuse)}));
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].rows, (Rows{0, 2}));
  EXPECT_EQ(curves[1].rows, (Rows{1, 3}));
  EXPECT_NE(curves[0].name, curves[1].name);
}

TEST(SimulateReport, AKneeIsToldUnlessItIsTheLargestPool) {
  const auto line = [](double small) {
    const SimulateReport report = Serial({Row(10, small), Row(0, 0.5)});
    return KneeLine(report, Curves(report)[0]);
  };
  EXPECT_EQ(line(0.48), "knee at 10 pages: hit rate 0.4800 of 0.5000 with an unlimited pool");
  EXPECT_EQ(line(0.4),
            "no knee: no smaller pool has 95% of the hit rate 0.5000 of an unlimited pool");
}

TEST(SimulateReport, ACurveIsNamedByWhatRowsDifferIn) {
  SimulatedRow other = Row(10, 0.1);
  other.page_tokens = 32;
  EXPECT_EQ(Curves(Serial({Row(10, 0.1), Row(20, 0.1)}))[0].name, "lru");
  EXPECT_EQ(Curves(Serial({Row(10, 0.1), other}))[1].name, "lru, pages of 32");
  other.replicas = 2;
  other.routing = Routing::kPrefixAware;
  SimulatedRow spread = other;
  spread.routing = Routing::kRoundRobin;
  EXPECT_EQ(Curves(Serial({other, spread}))[0].name, "lru, prefix");
}

TEST(SimulateReport, OneRowHasNoKnee) {
  EXPECT_FALSE(Curves(Serial({Row(10, 0.1)}))[0].knee.has_value());
}

TEST(SimulateReport, JsonNamesPoolPolicyAndHitRate) {
  const auto json = boost::json::parse(Json(Serial({Row(0, 0.5), Row(10, 0.25)})));
  const auto& rows = json.at("rows").as_array();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("pool_pages").as_string(), "unlimited");
  EXPECT_EQ(rows[1].at("pool_pages").as_int64(), 10);
  EXPECT_EQ(rows[1].at("policy").as_string(), "lru");
  EXPECT_EQ(rows[1].at("hit_rate").as_double(), 0.25);
  EXPECT_EQ(json.at("schema").as_string(), "banyan-loadtest-simulate/1");
  EXPECT_EQ(json.at("mode").as_string(), "serial");
  EXPECT_FALSE(rows[1].as_object().contains("routing"));
  EXPECT_FALSE(rows[1].as_object().contains("ttft_ms"));
}

TEST(SimulateReport, AFullRunHasTimesAndMemory) {
  const auto json = boost::json::parse(Json(Full()));
  const auto& row = json.at("rows").as_array()[0];
  EXPECT_EQ(row.at("pool_gib").as_double(), 1.0);
  EXPECT_EQ(row.at("routing").as_string(), "round-robin");
  EXPECT_GT(row.at("ttft_ms").at("p50").as_double(), 1.0);
  EXPECT_GE(row.at("latency_ms").at("p99").as_double(), row.at("ttft_ms").at("p50").as_double());
  EXPECT_GT(row.at("goodput").as_double(), 0);
  EXPECT_FALSE(json.at("rows").as_array()[1].as_object().contains("pool_gib"));
}

TEST(SimulateReport, TheSameRunGivesTheSameBytes) {
  EXPECT_EQ(Json(Full()), Json(Full()));
  EXPECT_EQ(Table(Full()), Table(Full()));
  EXPECT_EQ(Page(Full()), Page(Full()));
}

TEST(SimulateReport, TheTableFitsATerminal) {
  for (const SimulateReport& report : {Serial({Row(1 << 26, 0.5), Row(0, 0.6)}), Full()}) {
    const std::string table = Table(report);
    const std::vector<std::string> lines = absl::StrSplit(table, '\n');
    for (const std::string& line : lines) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_NE(table.find("unlimited"), std::string::npos);
    EXPECT_NE(table.find("knee"), std::string::npos);
  }
}

TEST(SimulateReport, ThePageHasItsPlotsAndEveryRow) {
  const auto count = [](const std::string& page, const std::string& what) {
    int found = 0;
    for (auto at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++found;
    return found;
  };
  const std::string serial = Page(Serial({Row(10, 0.1), Row(20, 0.2), Row(0, 0.2)}));
  EXPECT_EQ(count(serial, "<figure"), 1);
  EXPECT_EQ(count(serial, "<tr>"), 1 + 3);
  const std::string full = Page(Full());
  EXPECT_EQ(count(full, "<figure"), 3);
  EXPECT_EQ(count(full, "<tr>"), 1 + 2);
}

}  // namespace
}  // namespace banyan::loadtest
