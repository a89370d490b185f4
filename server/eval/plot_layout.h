// Where things go on the plot of an evaluation: round ticks, and labels that cover nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace banyan::server {

// A part of the picture, in its units; y grows downwards.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  bool Overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool Holds(const Box& other) const {
    return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
  }
};

// From a number to a length, over a range with round ends and ticks.
class PlotAxis {
 public:
  // Shows from `low` to `high` at least (low < high); lengths go from `begin` to `end`.
  PlotAxis(double low, double high, double begin, double end);

  double At(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }
  std::string Label(double tick) const;  // with as many decimals as tell it from its neighbours

 private:
  double begin_, end_;
  int decimals_ = 0;
  std::vector<double> ticks_;
};

// A point of the plot, and the text that belongs to it.
struct Dot {
  double x = 0, y = 0;
  Box covers;  // what is drawn for it
  std::string label;
};

struct PlacedLabel {
  double x = 0, y = 0;     // of the text's middle
  bool is_led_to = false;  // by a line from its dot, as it is far off or nearer to another
};

// One for each dot, in their order: near it where there is room, else farther off. As long as there
// is any room in `frame` no label covers a dot or another label.
std::vector<PlacedLabel> PlaceLabels(std::span<const Dot> dots, const Box& frame);

// The space that a label takes.
Box LabelBox(const PlacedLabel& placed, const std::string& label);

}  // namespace banyan::server
