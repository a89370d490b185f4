#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/html.h"
#include "loadtest/report/format.h"
#include "loadtest/report/page_parts.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

std::string Fact(const Result& result, std::string_view name) {
  for (const auto& [key, value] : result.facts) {
    if (key == name) return value;
  }
  return "";
}

std::string Title(const Result& result) {
  const std::string model = Fact(result, "model");
  return model.empty() ? "Load test" : absl::StrCat("Load test of ", model);
}

std::vector<std::pair<std::string, std::string>> Cards(const Summary& summary) {
  const Group& all = summary.all;
  std::vector<std::pair<std::string, std::string>> cards = {
      {FormatNumber(summary.requests_per_second), "answers/s"},
      {FormatNumber(summary.tokens_per_second), "output tokens/s"},
      {FormatTimeOf(all.ttft_scheduled, 0.5), "TTFT p50, from scheduled"},
      {FormatTimeOf(all.ttft_scheduled, 0.99), "TTFT p99, from scheduled"},
      {FormatTimeOf(summary.inter_token, 0.5), "gap between tokens p50"},
      {FormatTimeOf(summary.inter_token, 0.99), "gap between tokens p99"},
      {FormatTimeOf(all.latency, 0.5), "latency p50"}};
  if (const auto rate = all.hit_rate()) {
    cards.emplace_back(FormatShare(*rate), "of prompt tokens cached");
  }
  cards.emplace_back(FormatCount(all.requests), "answers");
  cards.emplace_back(FormatCount(summary.failed()), "failed requests");
  if (summary.slo.any()) {
    cards.emplace_back(FormatShare(summary.slo_share),
                       absl::StrCat("of all requests within ", Text(summary.slo)));
    cards.emplace_back(FormatNumber(summary.goodput), "goodput, answers/s");
  }
  return cards;
}

std::string TimesTable(const Summary& summary) {
  Rows rows;
  const auto add = [&](const char* name, const Histogram& histogram) {
    std::vector<std::string> row = {name, FormatCount(histogram.count())};
    for (const double q : {0.5, 0.9, 0.95, 0.99, 0.999, 1.0}) {
      row.push_back(FormatTimeOf(histogram, q));
    }
    row.push_back(
        histogram.count() == 0 ? "-" : FormatTime(Tick(static_cast<Tick::rep>(histogram.mean()))));
    rows.push_back(std::move(row));
  };
  add("TTFT from scheduled", summary.all.ttft_scheduled);
  add("TTFT from sent", summary.all.ttft);
  add("Gap between tokens (ITL)", summary.inter_token);
  add("Time per token of an answer (TPOT)", summary.all.tpot);
  add("Latency", summary.all.latency);
  add("Wait from scheduled to sent", summary.queueing);
  return HtmlTable({"", "values", "p50", "p90", "p95", "p99", "p99.9", "max", "mean"}, rows);
}

std::vector<std::string> GroupRow(std::string name, const Group& group) {
  const auto rate = group.hit_rate();
  return {std::move(name),
          FormatCount(group.requests),
          rate ? FormatShare(*rate) : "-",
          FormatTimeOf(group.ttft_scheduled, 0.5),
          FormatTimeOf(group.ttft_scheduled, 0.99),
          FormatTimeOf(group.tpot, 0.5),
          FormatTimeOf(group.latency, 0.5),
          FormatTimeOf(group.latency, 0.99)};
}

std::string GroupTables(const Summary& summary) {
  const auto head = [](const char* of) {
    return std::vector<std::string>{of,         "answers",  "cached",      "TTFT p50",
                                    "TTFT p99", "TPOT p50", "latency p50", "latency p99"};
  };
  std::string html;
  if (summary.by_turn.size() > 1) {
    Rows rows;
    for (const auto& [turn, group] : summary.by_turn) {
      rows.push_back(GroupRow(TurnName(turn), group));
    }
    absl::StrAppend(&html, HtmlHeading("By turn"), HtmlTable(head("turn"), rows));
  }
  if (summary.all.hit_rate()) {
    Rows rows;
    for (int i = 0; i < kHitBuckets; ++i) {
      if (summary.by_hit_rate[i].requests == 0) continue;
      rows.push_back(GroupRow(HitBucketName(i), summary.by_hit_rate[i]));
    }
    absl::StrAppend(&html, HtmlHeading("By part of the prompt cached"),
                    HtmlTable(head("cached"), rows));
  }
  return html;
}

std::string StepTable(const std::vector<Side>& steps) {
  Rows rows;
  for (const Side& step : steps) {
    const Summary& summary = step.summary;
    const auto rate = summary.all.hit_rate();
    rows.push_back({step.name, FormatNumber(OfferedRate(summary)),
                    FormatNumber(summary.requests_per_second),
                    FormatNumber(summary.tokens_per_second),
                    summary.slo.any() ? FormatNumber(summary.goodput) : "-",
                    FormatTimeOf(summary.all.ttft_scheduled, 0.5),
                    FormatTimeOf(summary.all.ttft_scheduled, 0.99),
                    FormatTimeOf(summary.all.tpot, 0.5), FormatTimeOf(summary.all.latency, 0.99),
                    rate ? FormatShare(*rate) : "-", FormatCount(summary.failed())});
  }
  return HtmlTable({"step", "offered/s", "answers/s", "tokens/s", "goodput", "TTFT p50", "TTFT p99",
                    "TPOT p50", "latency p99", "cached", "failed"},
                   rows);
}

// A step is called by the facts in which it differs from the others, when and by how much aside.
std::string StepName(const std::vector<Report>& steps, std::size_t step) {
  std::string name;
  for (const auto& [key, value] : steps[step].result.facts) {
    if (key == "ended" || key == "version") continue;
    const bool differs = std::any_of(
        steps.begin(), steps.end(),
        [&, k = key, v = value](const Report& other) { return Fact(other.result, k) != v; });
    if (differs) absl::StrAppend(&name, name.empty() ? "" : "; ", value);
  }
  return absl::StrCat(step + 1, name.empty() ? "" : ": ", name);
}

std::string SweepPart(const std::vector<Report>& steps) {
  std::vector<Side> sides;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    sides.push_back({StepName(steps, i), &steps[i], Summarize(steps[i].result, steps[i].slo)});
  }
  return absl::StrCat(HtmlHeading("The sweep"), StepTable(sides), HtmlPlots(SweepPlots(sides)),
                      "<p class=\"sub\">What follows is the last step alone.</p>\n");
}

}  // namespace

std::string Page(const std::vector<Report>& steps) {
  CHECK(!steps.empty());
  const Result& result = steps.back().result;
  const std::vector<Side> one = {{"", &steps.back(), Summarize(result, steps.back().slo)}};
  const Summary& summary = one.front().summary;
  std::string body = absl::StrCat(
      "<h1>", EscapeHtml(Title(result)), "</h1>\n<p class=\"sub\">",
      EscapeHtml(absl::StrCat(Fact(result, "target"), " ", Fact(result, "ended"))), "</p>\n");
  if (steps.size() > 1) absl::StrAppend(&body, SweepPart(steps));
  absl::StrAppend(&body, HtmlWarnings(Warnings(result, summary)), HtmlCards(Cards(summary)));
  if (summary.failed() > 0) {
    absl::StrAppend(&body, "<p class=\"warn\">Failed: ", EscapeHtml(Failures(summary)), "</p>\n");
  }
  absl::StrAppend(&body, HtmlHeading("How long it took"), HtmlPlots(DistributionPlots(one)),
                  TimesTable(summary), HtmlHeading("As it went"), HtmlPlots(TimelinePlots(one)));
  std::vector<Plot> why = PromptPlots(one);
  for (Plot& plot : TurnPlots(one)) why.push_back(std::move(plot));
  absl::StrAppend(&body, HtmlHeading("What it depends on"), HtmlPlots(why), GroupTables(summary),
                  HtmlHeading("What was run"), HtmlFacts(one), HtmlHeading("What the words mean"),
                  HtmlDefinitions());
  return HtmlPage(Title(result), body);
}

}  // namespace banyan::loadtest
