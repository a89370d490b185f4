#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/html.h"
#include "base/utf8.h"
#include "loadtest/report/compare.h"
#include "loadtest/report/format.h"
#include "loadtest/report/page_parts.h"

namespace banyan::loadtest {
namespace {

namespace bj = boost::json;

constexpr char kHow[] =
    "95% intervals by the bootstrap: conversations drawn again with replacement, for rates slices "
    "of the measured time. How much a run differs from itself another time is not in them: repeat "
    "both runs to know.";

std::string Figure(const Ratio& ratio, double value) {
  if (std::isnan(value)) return "-";
  switch (ratio.unit) {
    case Ratio::Unit::kSeconds:
      return FormatTime(Tick(static_cast<Tick::rep>(value * 1e9)));
    case Ratio::Unit::kRate:
      return FormatNumber(value);
    case Ratio::Unit::kShare:
      return FormatShare(value);
  }
  return "-";
}

std::string Times(double ratio) { return std::isnan(ratio) ? "-" : absl::StrFormat("%.3f", ratio); }

std::string Interval(const Ratio& ratio) {
  if (std::isnan(ratio.low)) return "-";
  return absl::StrCat(Times(ratio.low), " to ", Times(ratio.high));
}

std::string Verdict(const Ratio& ratio) {
  if (std::isnan(ratio.low)) return "";
  if (!ratio.clear()) return "no clear difference";
  return ratio.better() ? "B is better" : "B is worse";
}

// Where the intervals lie around 1, on an axis that all rows share.
class Whiskers {
 public:
  explicit Whiskers(const std::vector<Ratio>& ratios) {
    std::vector<double> reaches = {0.01};
    for (const Ratio& ratio : ratios) {
      double reach = 0;
      for (const double end : {ratio.low, ratio.high, ratio.ratio}) {
        if (end > 0 && std::isfinite(end)) reach = std::max(reach, std::abs(std::log(end)));
      }
      reaches.push_back(reach);
    }
    // A few wide intervals end at the border: they must not make points of the others.
    std::sort(reaches.begin(), reaches.end());
    reach_ = std::max(reach_, 1.3 * reaches[reaches.size() * 3 / 4]);
  }

  std::string Svg(const Ratio& ratio) const {
    std::string svg = "<svg viewBox=\"0 0 144 16\" role=\"img\"><title>" +
                      EscapeHtml(Interval(ratio)) + "</title><path class=\"axis\" d=\"M72 0V16\"/>";
    if (ratio.low > 0) {
      absl::StrAppend(&svg, "<path class=\"line s0\" d=\"M", At(ratio.low), " 8H", At(ratio.high),
                      "\"/>");
    }
    if (ratio.ratio > 0) {
      absl::StrAppend(&svg, "<path class=\"points s0\" d=\"M", At(ratio.ratio), " 8h0\"/>");
    }
    return svg + "</svg>";
  }

 private:
  std::string At(double ratio) const {
    const double at = std::clamp(std::log(ratio) / reach_, -1.0, 1.0);
    return absl::StrFormat("%.1f", 72 + 68 * at);
  }

  double reach_ = 0.01;
};

std::string RatioRows(const std::vector<Ratio>& ratios) {
  const Whiskers whiskers(ratios);
  std::string html =
      "<div class=\"wide\"><table><thead><tr><th></th><th>A</th><th>B</th><th>B / A</th><th>95% "
      "interval</th><th>around 1</th><th class=\"text\"></th></tr></thead><tbody>\n";
  for (const Ratio& ratio : ratios) {
    absl::StrAppend(&html, "<tr><td>", EscapeHtml(ratio.name), "</td><td>", Figure(ratio, ratio.a),
                    "</td><td>", Figure(ratio, ratio.b), "</td><td>", Times(ratio.ratio),
                    "</td><td>", Interval(ratio), "</td><td>");
    absl::StrAppend(&html, whiskers.Svg(ratio), "</td><td class=\"text ",
                    !ratio.clear()   ? ""
                    : ratio.better() ? "good"
                                     : "bad",
                    "\">", Verdict(ratio), "</td></tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string CompareTable(const Report& a, const Report& b, const std::vector<Ratio>& ratios) {
  std::string text;
  for (const auto& [name, report] : {std::pair("A", &a), std::pair("B", &b)}) {
    for (const auto& [fact, value] : report->result.facts) {
      if (fact != "report" && fact != "target" && fact != "model") continue;
      absl::StrAppend(&text, TableLine(absl::StrCat(name, " ", fact), value));
    }
  }
  absl::StrAppend(&text, absl::StrFormat("\n  %-18s%12s%12s%10s%20s  %s\n", "", "A", "B", "B / A",
                                         "95% interval", ""));
  for (const Ratio& ratio : ratios) {
    absl::StrAppend(&text, absl::StrFormat("  %-18s%12s%12s%10s%20s  %s\n", ratio.name,
                                           Figure(ratio, ratio.a), Figure(ratio, ratio.b),
                                           Times(ratio.ratio), Interval(ratio), Verdict(ratio)));
  }
  absl::StrAppend(&text, "\n", TableLine("", kHow));
  for (const std::string& difference : Differences(a, b)) {
    absl::StrAppend(&text, TableLine("WARNING", difference));
  }
  return text;
}

std::string CompareJson(const Report& a, const Report& b, const std::vector<Ratio>& ratios) {
  const auto number = [](double value) {
    return std::isfinite(value) ? bj::value(value) : bj::value(nullptr);
  };
  const auto facts = [](const Report& report) {
    bj::object object;
    for (const auto& [name, value] : report.result.facts) {
      object[ToValidUtf8(name)] = ToValidUtf8(value);
    }
    return object;
  };
  bj::array rows;
  for (const Ratio& ratio : ratios) {
    const char* unit = ratio.unit == Ratio::Unit::kSeconds ? "s"
                       : ratio.unit == Ratio::Unit::kRate  ? "1/s"
                                                           : "share";
    rows.push_back(bj::object{{"name", ratio.name},
                              {"unit", unit},
                              {"a", number(ratio.a)},
                              {"b", number(ratio.b)},
                              {"ratio", number(ratio.ratio)},
                              {"low", number(ratio.low)},
                              {"high", number(ratio.high)},
                              {"more_is_better", ratio.more_is_better}});
  }
  bj::array warnings;
  for (const std::string& difference : Differences(a, b)) {
    warnings.push_back(bj::value(ToValidUtf8(difference)));
  }
  const bj::object object = {{"schema", "banyan-loadtest-compare/1"},
                             {"a", facts(a)},
                             {"b", facts(b)},
                             {"warnings", std::move(warnings)},
                             {"ratios", std::move(rows)}};
  return bj::serialize(object) + "\n";
}

std::string ComparePage(const Report& a, const Report& b, const std::vector<Ratio>& ratios) {
  const std::vector<Side> sides = {{"A", &a, Summarize(a.result, a.slo)},
                                   {"B", &b, Summarize(b.result, b.slo)}};
  std::vector<Plot> why = PromptPlots(sides);
  for (Plot& plot : TurnPlots(sides)) why.push_back(std::move(plot));
  const std::string body = absl::StrCat(
      "<h1>Two runs compared</h1>\n", HtmlFacts(sides), HtmlWarnings(Differences(a, b)),
      HtmlHeading("B over A"), RatioRows(ratios), "<p class=\"note\">", EscapeHtml(kHow), "</p>\n",
      HtmlHeading("How long it took"), HtmlPlots(DistributionPlots(sides)),
      HtmlHeading("As it went"), HtmlPlots(TimelinePlots(sides)), HtmlHeading("What it depends on"),
      HtmlPlots(why), HtmlHeading("What the words mean"), HtmlDefinitions());
  return HtmlPage("Two runs compared", body);
}

}  // namespace banyan::loadtest
