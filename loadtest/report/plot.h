// Plots as SVG for a page: axes with round ticks, lines, steps, points coloured by a value, a
// legend. Colours are CSS variables, so that a page decides light or dark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace banyan::loadtest {

enum class Scale : std::uint8_t {
  kLinear,
  kLog,   // what is not > 0 is left out
  kTail,  // parts of all, 0 <= q < 1, as -log10(1 - q): each further nine is as wide as the one
          // before
};

struct Axis {
  std::string label;  // with its unit
  Scale scale = Scale::kLinear;
  // Shown at least and at most; else what the series need, and 0 where that is near.
  std::optional<double> from, to;
  bool whole = false;  // only whole numbers are written along a linear axis
};

struct Series {
  std::string name;
  enum class Mark : std::uint8_t { kLine, kSteps, kPoints, kLinePoints } mark = Mark::kLine;
  std::vector<double> x, y;  // as many; NaN in y is a gap
  // kPoints: 0..1 for each, on the page's scale, NaN: not known; empty: the series' own colour.
  std::vector<double> colour;
};

struct Marker {  // a vertical line with a word
  double x = 0;
  std::string label;
};

struct Plot {
  std::string title;
  Axis x, y;
  std::vector<Series> series;  // at most kMostSeries
  std::vector<Marker> markers;
  std::string colour_label;  // what 0..1 of Series::colour are, as in "cached: 0% to 100%"
  std::string note;          // under the plot: what is left out, how to read it
};

inline constexpr std::size_t kMostSeries = 8;
// More points than this in a series are thinned evenly, and the plot says so. Lines keep the
// lowest and the highest of what they skip.
inline constexpr std::size_t kMostPoints = 4000;

// A <figure> with an <svg>, readable without a script (there is none) and by screen readers. A plot
// without any point says that there is none.
std::string Svg(const Plot& plot);

// The page around plots and tables: head, style for light and dark, `body` as it is.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace banyan::loadtest
