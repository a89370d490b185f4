// The plot of quality against memory, as an SVG file that needs no other.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/html.h"
#include "server/eval/plot_layout.h"
#include "server/eval/report.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 440;
constexpr Box kFrame = {74, 56, kWidth - 24, kHeight - 58};
constexpr double kRadius = 5;
constexpr double kKiB = 1024;
constexpr double kLeastSpan = 0.01;  // of the y axis, in percent

constexpr std::string_view kStyle =
    ".paper{fill:#ffffff}.ink{fill:#1f2328}.grid{stroke:#d8dee4}.axis{stroke:#656d76}"
    ".dot{fill:#0969da}.bar{stroke:#0969da}.lead{stroke:#656d76}"
    "@media(prefers-color-scheme:dark){"
    ".paper{fill:#0d1117}.ink{fill:#e6edf3}.grid{stroke:#30363d}.axis{stroke:#8b949e}"
    ".dot{fill:#58a6ff}.bar{stroke:#58a6ff}.lead{stroke:#8b949e}}";

std::string Px(double length) { return absl::StrFormat("%.1f", length); }

std::string Line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return absl::StrCat("<line class=\"", std::string(kind), "\" x1=\"", Px(x1), "\" y1=\"", Px(y1),
                      "\" x2=\"", Px(x2), "\" y2=\"", Px(y2), "\"/>\n");
}

std::string Text(double x, double y, std::string_view anchor, const std::string& text) {
  return absl::StrCat("<text class=\"ink\" x=\"", Px(x), "\" y=\"", Px(y), "\" text-anchor=\"",
                      std::string(anchor), "\">", EscapeHtml(text), "</text>\n");
}

// What is drawn of a configuration, in the units of the axes.
struct Point {
  std::string label;
  double memory = 0;  // KiB per token
  double worse = 0;   // percent
  double error = 0;
};

std::vector<Point> PointsOf(const EvalReport& report) {
  std::vector<Point> points;
  for (const EvalRow& row : report.rows) {
    points.push_back({.label = row.configuration.name,
                      .memory = PeakBytesPerToken(report, row) / kKiB,
                      .worse = 100 * (row.text.quality.ratio - 1),
                      .error = 100 * row.text.quality.ratio_error});
  }
  return points;
}

std::string Grid(const PlotAxis& x, const PlotAxis& y) {
  std::string out;
  for (const double tick : x.ticks()) {
    absl::StrAppend(&out, Line("grid", x.At(tick), kFrame.top, x.At(tick), kFrame.bottom),
                    Text(x.At(tick), kFrame.bottom + 19, "middle", x.Label(tick)));
  }
  for (const double tick : y.ticks()) {
    absl::StrAppend(&out, Line("grid", kFrame.left, y.At(tick), kFrame.right, y.At(tick)),
                    Text(kFrame.left - 8, y.At(tick) + 4.5, "end", y.Label(tick)));
  }
  absl::StrAppend(&out, Line("axis", kFrame.left, kFrame.bottom, kFrame.right, kFrame.bottom),
                  Line("axis", kFrame.left, kFrame.top, kFrame.left, kFrame.bottom));
  return out;
}

std::string Points(const std::vector<Point>& points, const PlotAxis& x, const PlotAxis& y) {
  std::vector<Dot> dots;
  std::string out;
  for (const Point& point : points) {
    const double at_x = x.At(point.memory);
    const double at_y = y.At(point.worse);
    const double high = y.At(point.worse + point.error);
    const double low = y.At(point.worse - point.error);
    dots.push_back({.x = at_x,
                    .y = at_y,
                    .covers = {at_x - kRadius, std::min(at_y - kRadius, high), at_x + kRadius,
                               std::max(at_y + kRadius, low)},
                    .label = point.label});
    absl::StrAppend(&out, Line("bar", at_x, high, at_x, low), "<circle class=\"dot\" cx=\"",
                    Px(at_x), "\" cy=\"", Px(at_y), "\" r=\"", Px(kRadius), "\"/>\n");
  }
  const std::vector<PlacedLabel> labels = PlaceLabels(dots, kFrame);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const Box box = LabelBox(labels[i], dots[i].label);
    if (labels[i].is_led_to) {
      absl::StrAppend(&out,
                      Line("lead", dots[i].x, dots[i].y, std::clamp(dots[i].x, box.left, box.right),
                           std::clamp(dots[i].y, box.top, box.bottom)));
    }
    absl::StrAppend(&out, Text(labels[i].x, labels[i].y + 4.5, "middle", dots[i].label));
  }
  return out;
}

}  // namespace

std::string EvalAsSvg(const EvalReport& report) {
  const std::vector<Point> points = PointsOf(report);
  double most = 1;
  double low = 0;
  double high = kLeastSpan;
  for (const Point& point : points) {
    most = std::max(most, point.memory);
    low = std::min(low, point.worse - point.error);
    high = std::max(high, point.worse + point.error);
  }
  const PlotAxis x(0, most, kFrame.left, kFrame.right);
  const PlotAxis y(low, high, kFrame.bottom, kFrame.top);
  const std::string title = absl::StrCat("Quality against KV memory: ", report.model_name, ", ",
                                         Grouped(report.rows.front().text.quality.tokens),
                                         " tokens in windows of ", Grouped(report.context));
  return absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
      "\" width=\"", kWidth, "\" height=\"", kHeight,
      "\" role=\"img\" font-family=\"system-ui,sans-serif\" font-size=\"13\">\n<title>",
      EscapeHtml(title),
      "</title>\n<desc>How much perplexity grows beside exact f16 pages, against the memory of a "
      "token.</desc>\n<style>",
      std::string(kStyle), "</style>\n<rect class=\"paper\" width=\"", kWidth, "\" height=\"",
      kHeight, "\"/>\n", Text(kFrame.left, 22, "start", title),
      Text(kFrame.left, 43, "start",
           "perplexity beside exact f16, % (bars: standard error); lower is better"),
      Text(kFrame.right, kHeight - 16, "end", "peak KV memory per token of context, KiB"),
      Grid(x, y), Points(points, x, y), "</svg>\n");
}

}  // namespace banyan::server
