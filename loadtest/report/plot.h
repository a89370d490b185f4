// Plots as SVG for a page: axes with round ticks, lines, steps, points coloured by a value, a
// legend. Colours are CSS variables, so that a page decides light or dark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace banyan::loadtest {

enum class Scale : std::uint8_t { kLinear, kLog };

struct Axis {
  std::string label;  // with its unit
  Scale scale = Scale::kLinear;
};

struct Series {
  std::string name;
  enum class Mark : std::uint8_t { kLine, kSteps, kPoints } mark = Mark::kLine;
  std::vector<double> x, y;  // as many; NaN in y is a gap
  std::vector<double>
      colour;  // kPoints: 0..1 for each, on the page's scale; empty: the series' own
};

struct Marker {  // a vertical line with a word
  double x = 0;
  std::string label;
};

struct Plot {
  std::string title;
  Axis x, y;
  std::vector<Series> series;  // at most 8
  std::vector<Marker> markers;
};

// An <svg> element, readable without its page's script (there is none) and by screen readers
// (title, desc).
std::string Svg(const Plot& plot);

// The page around plots and tables: head, style for light and dark, `body` as it is.
std::string HtmlPage(const std::string& title, const std::string& body);
std::string EscapeHtml(const std::string& text);

}  // namespace banyan::loadtest
