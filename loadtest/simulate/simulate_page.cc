// The page of a simulation: hit rate and latency against the pool's size, and every row.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "loadtest/report/plot.h"
#include "loadtest/simulate/simulate_report.h"

namespace banyan::loadtest {
namespace {

// How much further right than the largest pool an unlimited one is drawn.
constexpr double kBeyond = 2;
constexpr std::size_t kMostLatencyCurves = kMostSeries / 2;

double Size(const SimulateReport& report, const SimulatedRow& row) {
  if (const auto gib = Gib(report, row)) return *gib;
  return static_cast<double>(row.pool_pages) * row.page_tokens;
}

Axis PoolAxis(const SimulateReport& report) {
  Axis axis;
  axis.label =
      report.kv_bytes_per_token > 0 ? "pool of a replica (GiB)" : "pool of a replica (tokens)";
  axis.scale = Scale::kLog;
  return axis;
}

// Without its series.
Plot PoolPlot(const SimulateReport& report, std::string title, std::string y, std::string note) {
  Plot plot;
  plot.title = std::move(title);
  plot.x = PoolAxis(report);
  plot.y.label = std::move(y);
  plot.y.from = 0;
  plot.note = std::move(note);
  return plot;
}

// Where each row of the curve is drawn.
std::vector<double> Places(const SimulateReport& report, const PoolCurve& curve) {
  double largest = 0;
  for (const SimulatedRow& row : report.rows) {
    if (row.pool_pages > 0) largest = std::max(largest, Size(report, row));
  }
  std::vector<double> places;
  for (const std::size_t at : curve.rows) {
    const SimulatedRow& row = report.rows[at];
    const double beyond = largest > 0 ? kBeyond * largest : 1;
    places.push_back(row.pool_pages > 0 ? Size(report, row) : beyond);
  }
  return places;
}

template <class F>
Series Line(const SimulateReport& report, const PoolCurve& curve, std::string name, F value) {
  Series series;
  series.name = std::move(name);
  series.mark = Series::Mark::kLinePoints;
  series.x = Places(report, curve);
  for (const std::size_t row : curve.rows) series.y.push_back(value(report.rows[row]));
  return series;
}

std::string Note(const SimulateReport& report, std::size_t shown, std::size_t curves) {
  std::string note;
  const bool unlimited = std::any_of(report.rows.begin(), report.rows.end(),
                                     [](const SimulatedRow& row) { return row.pool_pages == 0; });
  if (unlimited) note = "The point furthest right is the unlimited pool.";
  if (shown < curves) absl::StrAppend(&note, " Of ", curves, " curves the first ", shown, ".");
  return note;
}

void MarkKnees(const SimulateReport& report, const std::vector<PoolCurve>& curves, Plot& plot) {
  for (const PoolCurve& curve : curves) {
    if (!curve.knee) continue;
    const SimulatedRow& knee = report.rows[*curve.knee];
    if (knee.pool_pages == 0) continue;
    const std::string which = curves.size() > 1 ? absl::StrCat(": ", curve.name) : "";
    plot.markers.push_back({Size(report, knee), absl::StrCat("knee", which)});
  }
}

std::string HitPlot(const SimulateReport& report, std::vector<PoolCurve> curves) {
  const std::size_t all = curves.size();
  if (all > kMostSeries) curves.resize(kMostSeries);
  Plot plot = PoolPlot(report, "Hit rate against pool size", "cached share of prompt tokens",
                       Note(report, curves.size(), all));
  for (const PoolCurve& curve : curves) {
    plot.series.push_back(
        Line(report, curve, curve.name, [](const SimulatedRow& row) { return row.hit_rate; }));
  }
  MarkKnees(report, curves, plot);
  return Svg(plot);
}

std::string LatencyPlot(const SimulateReport& report, std::vector<PoolCurve> curves) {
  const std::size_t all = curves.size();
  if (all > kMostLatencyCurves) curves.resize(kMostLatencyCurves);
  Plot plot = PoolPlot(report, "Time to the first token against pool size",
                       "seconds, from the scheduled time", Note(report, curves.size(), all));
  for (const PoolCurve& curve : curves) {
    for (const auto& [name, q] : {std::pair("p50", 0.5), std::pair("p99", 0.99)}) {
      const auto ttft = [q = q](const SimulatedRow& row) {
        return Seconds(Tick(row.summary->all.ttft_scheduled.Quantile(q)));
      };
      plot.series.push_back(Line(report, curve, absl::StrCat(name, ", ", curve.name), ttft));
    }
  }
  MarkKnees(report, curves, plot);
  return Svg(plot);
}

void Cell(std::string& table, const std::string& text) {
  absl::StrAppend(&table, "<td>", EscapeHtml(text), "</td>");
}

std::string Rows(const SimulateReport& report) {
  std::string table = "<table><thead><tr>";
  std::vector<std::string> names = {"pool pages", "GiB",     "page",     "eviction",
                                    "replicas",   "routing", "hit rate", "refused"};
  if (!report.serial) {
    for (const char* name : {"TTFT p50 (s)", "TTFT p99 (s)", "end to end p50 (s)", "p99 (s)",
                             "requests/s", "goodput/s", "preemptions"}) {
      names.emplace_back(name);
    }
  }
  for (const std::string& name : names) absl::StrAppend(&table, "<th>", name, "</th>");
  table += "</tr></thead><tbody>\n";
  for (const SimulatedRow& row : report.rows) {
    const auto gib = Gib(report, row);
    table += "<tr>";
    Cell(table, PoolText(row.pool_pages));
    Cell(table, gib ? absl::StrFormat("%.1f", *gib) : "-");
    Cell(table, absl::StrCat(row.page_tokens));
    Cell(table, std::string(Name(row.eviction)));
    Cell(table, absl::StrCat(row.replicas));
    Cell(table, row.routing ? std::string(Name(*row.routing)) : "-");
    Cell(table, absl::StrFormat("%.4f", row.hit_rate));
    Cell(table, absl::StrCat(row.refused));
    if (row.summary) {
      const Group& group = row.summary->all;
      for (const Histogram* times : {&group.ttft_scheduled, &group.latency}) {
        for (const double q : {0.5, 0.99}) {
          Cell(table, absl::StrFormat("%.3f", Seconds(Tick(times->Quantile(q)))));
        }
      }
      Cell(table, absl::StrFormat("%.2f", row.summary->requests_per_second));
      Cell(table, absl::StrFormat("%.2f", row.summary->goodput));
      Cell(table, absl::StrCat(row.preemptions));
    }
    table += "</tr>\n";
  }
  return table + "</tbody></table>\n";
}

}  // namespace

std::string Page(const SimulateReport& report) {
  const std::vector<PoolCurve> curves = Curves(report);
  std::string body = absl::StrCat("<p>", EscapeHtml(report.source), "</p>\n");
  if (report.serial) {
    body +=
        "<p>Without concurrency: each prompt goes through the tree at its arrival, and answers "
        "are not kept.</p>\n";
  } else {
    absl::StrAppend(&body, "<p>Costs, in nanoseconds: <code>", EscapeHtml(Json(report.cost)),
                    "</code></p>\n");
  }
  if (report.slo.any()) {
    absl::StrAppend(&body, "<p>Goodput under ", EscapeHtml(Text(report.slo)), ".</p>\n");
  }
  for (const PoolCurve& curve : curves) {
    if (curve.knee) {
      absl::StrAppend(&body, "<p>",
                      EscapeHtml(absl::StrCat(curve.name, ": ", KneeLine(report, curve))),
                      ".</p>\n");
    }
  }
  body += HitPlot(report, curves);
  if (!report.serial) body += LatencyPlot(report, curves);
  body += Rows(report);
  return HtmlPage("Simulation of a prefix cache", body);
}

}  // namespace banyan::loadtest
