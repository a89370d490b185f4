// The page of a simulation: hit rate and latency against the pool's size, and every row.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/html.h"
#include "loadtest/report/page_parts.h"
#include "loadtest/simulate/simulate_report.h"

namespace banyan::loadtest {
namespace {

// How much further right than the largest pool an unlimited one is drawn.
constexpr double kBeyond = 2;
constexpr const char* kTitle = "Simulation of a prefix cache";

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
Series Line(const SimulateReport& report, const PoolCurve& curve, F value) {
  Series series;
  series.name = curve.name;
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

// Where several curves have their knee, it is not said whose it is: the page's text does.
void MarkKnees(const SimulateReport& report, const std::vector<PoolCurve>& curves, Plot& plot) {
  for (const PoolCurve& curve : curves) {
    if (!curve.knee || *curve.knee == curve.rows.back()) continue;
    const double at = Size(report, report.rows[*curve.knee]);
    const auto same = std::find_if(plot.markers.begin(), plot.markers.end(),
                                   [&](const Marker& marker) { return marker.x == at; });
    if (same != plot.markers.end()) {
      same->label = "knee";
    } else {
      plot.markers.push_back({at, curves.size() > 1 ? absl::StrCat("knee: ", curve.name) : "knee"});
    }
  }
}

// The first curves, as many as a plot can have.
template <class F>
Plot PlotOf(const SimulateReport& report, std::vector<PoolCurve> curves, std::string title,
            std::string y, F value) {
  const std::size_t all = curves.size();
  if (all > kMostSeries) curves.resize(kMostSeries);
  Plot plot = PoolPlot(report, std::move(title), std::move(y), Note(report, curves.size(), all));
  for (const PoolCurve& curve : curves) plot.series.push_back(Line(report, curve, value));
  MarkKnees(report, curves, plot);
  return plot;
}

Plot LatencyPlot(const SimulateReport& report, const std::vector<PoolCurve>& curves,
                 std::string title, double q) {
  return PlotOf(report, curves, std::move(title), "seconds, from the scheduled time",
                [q](const SimulatedRow& row) {
                  return Seconds(Tick(row.summary->all.ttft_scheduled.Quantile(q)));
                });
}

std::string TableOf(const SimulateReport& report) {
  std::vector<std::string> head = {"pool pages", "GiB",     "page",     "eviction",
                                   "replicas",   "routing", "hit rate", "refused"};
  if (!report.serial) {
    for (const char* name : {"TTFT p50 (s)", "TTFT p99 (s)", "latency p50 (s)", "latency p99 (s)",
                             "requests/s", "goodput/s", "preemptions"}) {
      head.emplace_back(name);
    }
  }
  Rows rows;
  for (const SimulatedRow& row : report.rows) {
    const auto gib = Gib(report, row);
    std::vector<std::string>& cells = rows.emplace_back();
    cells = {PoolText(row.pool_pages),
             gib ? absl::StrFormat("%.1f", *gib) : "-",
             absl::StrCat(row.page_tokens),
             std::string(Name(row.eviction)),
             absl::StrCat(row.replicas),
             row.routing ? std::string(Name(*row.routing)) : "-",
             absl::StrFormat("%.4f", row.hit_rate),
             absl::StrCat(row.refused)};
    if (!row.summary) continue;
    const Group& group = row.summary->all;
    for (const Histogram* times : {&group.ttft_scheduled, &group.latency}) {
      for (const double q : {0.5, 0.99}) {
        cells.push_back(absl::StrFormat("%.3f", Seconds(Tick(times->Quantile(q)))));
      }
    }
    cells.push_back(absl::StrFormat("%.2f", row.summary->requests_per_second));
    cells.push_back(absl::StrFormat("%.2f", row.summary->goodput));
    cells.push_back(absl::StrCat(row.preemptions));
  }
  return HtmlTable(head, rows);
}

std::string Paragraph(const std::string& text) {
  return absl::StrCat("<p>", EscapeHtml(text), "</p>\n");
}

}  // namespace

std::string Page(const SimulateReport& report) {
  const std::vector<PoolCurve> curves = Curves(report);
  std::string body =
      absl::StrCat("<h1>", kTitle, "</h1>\n<p class=\"sub\">", EscapeHtml(report.source), "</p>\n");
  if (report.serial) {
    body += Paragraph(
        "Without concurrency: each prompt goes through the tree at its arrival, and answers are "
        "not "
        "kept.");
  } else {
    body += Paragraph(absl::StrCat("Costs, in nanoseconds: ", Json(report.cost)));
  }
  if (report.slo.any()) body += Paragraph(absl::StrCat("Goodput under ", Text(report.slo), "."));
  for (const PoolCurve& curve : curves) {
    if (curve.knee) {
      body += Paragraph(absl::StrCat(curve.name, ": ", KneeLine(report, curve), "."));
    }
  }
  std::vector<Plot> plots = {PlotOf(report, curves, "Hit rate against pool size",
                                    "cached share of prompt tokens",
                                    [](const SimulatedRow& row) { return row.hit_rate; })};
  if (!report.serial) {
    plots.push_back(LatencyPlot(report, curves, "TTFT p50 against pool size", 0.5));
    plots.push_back(LatencyPlot(report, curves, "TTFT p99 against pool size", 0.99));
  }
  absl::StrAppend(&body, HtmlHeading("Against the pool's size"), HtmlPlots(plots),
                  HtmlHeading("Every simulation"), TableOf(report));
  return HtmlPage(kTitle, body);
}

}  // namespace banyan::loadtest
