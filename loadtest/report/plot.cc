#include "loadtest/report/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/html.h"
#include "loadtest/report/axis.h"
#include "loadtest/report/format.h"

namespace banyan::loadtest {
namespace {

// In the units of the view box: about a pixel where three plots share a window of 1,200.
constexpr double kWidth = 440;
constexpr double kHeight = 270;
constexpr double kTop = 26;     // of the y axis' label
constexpr double kBottom = 44;  // of ticks and the x axis' label
constexpr double kRight = 14;
constexpr double kCharacter = 7;  // at most, of a tick's label
constexpr int kColours = 6;       // on the page's scale

std::string Px(double length) { return absl::StrFormat("%.1f", length); }

// kColours: not known.
std::size_t Bin(double colour) {
  if (!std::isfinite(colour)) return kColours;
  return std::min<std::size_t>(kColours - 1,
                               static_cast<std::size_t>(std::clamp(colour, 0.0, 1.0) * kColours));
}

struct Points {
  std::vector<double> x, y, colour;
};

// Every n-th point, with the first.
Points Thinned(const Series& series) {
  Points points;
  const std::size_t stride = (series.x.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < series.x.size(); i += stride) {
    points.x.push_back(series.x[i]);
    points.y.push_back(series.y[i]);
    if (!series.colour.empty()) points.colour.push_back(series.colour[i]);
  }
  return points;
}

// The lowest and the highest of each stretch, in their order, so that no peak is lost.
Points ThinnedLine(const Series& series) {
  if (series.x.size() <= kMostPoints) return {series.x, series.y, {}};
  Points points;
  const std::size_t stretch = (2 * series.x.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t begin = 0; begin < series.x.size(); begin += stretch) {
    const auto first = series.y.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        series.y.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stretch, series.y.size()));
    const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
    auto low = static_cast<std::size_t>(std::min_element(first, last, less) - series.y.begin());
    const auto more = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
    auto high = static_cast<std::size_t>(std::max_element(first, last, more) - series.y.begin());
    if (low > high) std::swap(low, high);
    for (const std::size_t i : {low, high}) {
      points.x.push_back(series.x[i]);
      points.y.push_back(series.y[i]);
      if (low == high) break;
    }
  }
  return points;
}

class Drawing {
 public:
  explicit Drawing(const Plot& plot)
      : plot_(plot),
        y_(plot.y, Values(plot, &Series::y), kHeight - kTop - kBottom, 5),
        left_(LeftMargin(y_)),
        x_(plot.x, WithMarkers(plot), kWidth - left_ - kRight, 6) {}

  std::string Svg() {
    absl::StrAppend(&svg_, "<svg viewBox=\"0 0 ", kWidth, " ", kHeight, "\" role=\"img\"><title>",
                    EscapeHtml(plot_.title), "</title><desc>", EscapeHtml(plot_.y.label),
                    " against ", EscapeHtml(plot_.x.label), "</desc>");
    if (!x_.any() || !y_.any()) {
      Text(kWidth / 2, kHeight / 2, "middle", "nothing to show");
      return svg_ + "</svg>";
    }
    Grid();
    // A nested svg shows nothing outside of itself.
    absl::StrAppend(&svg_, "<svg x=\"", Px(left_), "\" y=\"", kTop, "\" width=\"", Px(Width()),
                    "\" height=\"", Height(), "\">");
    for (std::size_t i = 0; i < plot_.series.size(); ++i) Draw(plot_.series[i], i);
    absl::StrAppend(&svg_, "</svg>");
    Markers();
    return svg_ + "</svg>";
  }

 private:
  double Width() const { return kWidth - left_ - kRight; }
  static double Height() { return kHeight - kTop - kBottom; }

  static std::vector<double> Values(const Plot& plot, std::vector<double> Series::*which) {
    std::vector<double> values;
    for (const Series& series : plot.series) {
      values.insert(values.end(), (series.*which).begin(), (series.*which).end());
    }
    return values;
  }

  static std::vector<double> WithMarkers(const Plot& plot) {
    std::vector<double> values = Values(plot, &Series::x);
    if (!values.empty()) {
      for (const Marker& marker : plot.markers) values.push_back(marker.x);
    }
    return values;
  }

  static double LeftMargin(const Projection& y) {
    std::size_t longest = 1;
    for (const auto& tick : y.ticks()) longest = std::max(longest, tick.label.size());
    return 10 + kCharacter * static_cast<double>(longest);
  }

  void Text(double x, double y, const char* anchor, std::string_view text) {
    absl::StrAppend(&svg_, "<text x=\"", Px(x), "\" y=\"", Px(y), "\" text-anchor=\"", anchor,
                    "\">", EscapeHtml(std::string(text)), "</text>");
  }

  void Grid() {
    Text(2, 13, "start", plot_.y.label);
    Text(kWidth - kRight, kHeight - 6, "end", plot_.x.label);
    std::string lines;
    for (const auto& tick : y_.ticks()) {
      const double y = kTop + Height() - y_.At(tick.value);
      absl::StrAppend(&lines, "M", Px(left_), " ", Px(y), "H", Px(kWidth - kRight));
      Text(left_ - 5, y + 4, "end", tick.label);
    }
    double free = 0;  // where the label before ends
    for (const auto& tick : x_.ticks()) {
      const double x = left_ + x_.At(tick.value);
      absl::StrAppend(&lines, "M", Px(x), " ", kTop, "V", Px(kTop + Height()));
      const double half = kCharacter * static_cast<double>(tick.label.size()) / 2;
      // At the right border a label ends with the picture.
      const double middle = std::min(x, kWidth - half);
      if (middle - half < free) continue;
      Text(middle, kTop + Height() + 16, "middle", tick.label);
      free = middle + half + 4;
    }
    absl::StrAppend(&svg_, "<path class=\"grid\" d=\"", lines, "\"/><path class=\"axis\" d=\"M",
                    Px(left_), " ", kTop, "V", Px(kTop + Height()), "H", Px(kWidth - kRight),
                    "\"/>");
  }

  bool Placed(const Points& points, std::size_t i) const {
    return x_.Places(points.x[i]) && y_.Places(points.y[i]);
  }

  std::string At(const Points& points, std::size_t i) const {
    return absl::StrCat(Px(x_.At(points.x[i])), " ", Px(Height() - y_.At(points.y[i])));
  }

  void Draw(const Series& series, std::size_t number) {
    CHECK(series.x.size() == series.y.size());
    CHECK(series.colour.empty() || series.colour.size() == series.x.size());
    using Mark = Series::Mark;
    if (series.mark == Mark::kPoints) return DrawPoints(Thinned(series), number);
    const Points points = ThinnedLine(series);
    DrawLine(points, series.mark == Mark::kSteps, number);
    if (series.mark == Mark::kLinePoints) DrawPoints(points, number);
  }

  void DrawLine(const Points& points, bool steps, std::size_t number) {
    std::string path;
    std::string alone;  // points between gaps: dots, because no line leads to them
    const auto placed = [&](std::size_t i) { return i < points.x.size() && Placed(points, i); };
    bool pen = false;
    for (std::size_t i = 0; i < points.x.size(); ++i) {
      if (!placed(i)) {
        pen = false;
        continue;
      }
      if (!pen && !placed(i + 1)) {
        absl::StrAppend(&alone, "M", At(points, i), "h0");
      } else if (!pen) {
        absl::StrAppend(&path, "M", At(points, i));
      } else if (steps) {
        absl::StrAppend(&path, "H", Px(x_.At(points.x[i])), "V", Px(Height() - y_.At(points.y[i])));
      } else {
        absl::StrAppend(&path, "L", At(points, i));
      }
      pen = true;
    }
    for (const auto& [of, mark] : {std::pair(&path, "line"), std::pair(&alone, "points")}) {
      if (of->empty()) continue;
      absl::StrAppend(&svg_, "<path class=\"", mark, " s", number, "\" d=\"", *of, "\"/>");
    }
  }

  // Points of a colour are one path of lines without a length: their round caps are what is seen.
  void DrawPoints(const Points& points, std::size_t number) {
    std::vector<std::string> paths(kColours + 1);
    for (std::size_t i = 0; i < points.x.size(); ++i) {
      if (!Placed(points, i)) continue;
      absl::StrAppend(&paths[Bin(points.colour.empty() ? 0 : points.colour[i])], "M", At(points, i),
                      "h0");
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (paths[i].empty()) continue;
      const std::string colour = points.colour.empty() ? absl::StrCat("s", number)
                                 : i == kColours       ? std::string("unknown")
                                                       : absl::StrCat("c", i);
      absl::StrAppend(&svg_, "<path class=\"points ", colour, "\" d=\"", paths[i], "\"/>");
    }
  }

  void Markers() {
    int row = 0;
    for (const Marker& marker : plot_.markers) {
      if (!x_.Places(marker.x)) continue;
      const double x = left_ + x_.At(marker.x);
      const double y = kTop + 12 + 15 * (row++ % 4);
      absl::StrAppend(&svg_, "<path class=\"marker\" d=\"M", Px(x), " ", kTop, "V",
                      Px(kTop + Height()), "\"/>");
      const bool right = x < kWidth / 2;
      absl::StrAppend(&svg_, "<g class=\"word\">");
      Text(right ? x + 4 : x - 4, y, right ? "start" : "end", marker.label);
      absl::StrAppend(&svg_, "</g>");
    }
  }

  const Plot& plot_;
  const Projection y_;
  const double left_;
  const Projection x_;
  std::string svg_;
};

std::string Legend(const Plot& plot) {
  std::string legend;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    if (series.name.empty() || !series.colour.empty()) continue;
    const bool points = series.mark == Series::Mark::kPoints;
    absl::StrAppend(&legend, "<span><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"",
                    points ? "points" : "line", " s", i, "\" d=\"M", points ? "13 5h0" : "1 5H25",
                    "\"/></svg>", EscapeHtml(series.name), "</span>");
  }
  if (!plot.colour_label.empty()) {
    absl::StrAppend(&legend, "<span><svg viewBox=\"0 0 ", 12 * kColours,
                    " 10\" aria-hidden=\"true\" class=\"scale\">");
    for (int i = 0; i < kColours; ++i) {
      absl::StrAppend(&legend, "<path class=\"points c", i, "\" d=\"M", 6 + 12 * i, " 5h0\"/>");
    }
    absl::StrAppend(&legend, "</svg>", EscapeHtml(plot.colour_label), "</span>");
  }
  // Also when it is empty: plots side by side then begin at the same height.
  return absl::StrCat("<div class=\"legend\">", legend, "</div>");
}

// What is not drawn is said.
std::string Note(const Plot& plot) {
  std::string note = plot.note;
  for (const Series& series : plot.series) {
    if (series.mark != Series::Mark::kPoints || series.x.size() <= kMostPoints) continue;
    const std::size_t stride = (series.x.size() + kMostPoints - 1) / kMostPoints;
    absl::StrAppend(&note, note.empty() ? "" : " ", series.name, series.name.empty() ? "" : ": ",
                    "1 of every ", stride, " of ",
                    FormatCount(static_cast<std::int64_t>(series.x.size())), " points is drawn.");
  }
  return note.empty() ? "" : absl::StrCat("<p class=\"note\">", EscapeHtml(note), "</p>");
}

}  // namespace

std::string Svg(const Plot& plot) {
  CHECK(plot.series.size() <= kMostSeries);
  return absl::StrCat("<figure class=\"plot\"><figcaption>", EscapeHtml(plot.title),
                      "</figcaption>", Legend(plot), Drawing(plot).Svg(), Note(plot),
                      "</figure>\n");
}

}  // namespace banyan::loadtest
