#include "server/eval/plot_layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_format.h"
#include "base/check.h"

namespace banyan::server {
namespace {

constexpr int kTicks = 6;             // about so many
constexpr double kLetterWidth = 7.6;  // at most, on average over a label
constexpr double kLetterHeight = 16;
constexpr double kGap = 9;  // between a dot's middle and its label
constexpr int kDirections = 16;
constexpr int kRings = 12;  // of places, each farther from the dot
constexpr double kRingStep = 12;

double RoundStep(double span) {
  const double power = std::pow(10, std::floor(std::log10(span)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= span) return factor * power;
  }
  return 10 * power;
}

// Where a label of `half` its width lies in a direction from the dot: its border, and not its
// middle, is as far off as `distance`.
PlacedLabel PlaceAt(const Dot& dot, double half, double angle, double distance) {
  return {.x = dot.x + std::cos(angle) * (distance + half),
          .y = dot.y - std::sin(angle) * (distance + kLetterHeight / 2),
          .is_led_to = distance > kGap};
}

double Distance(const Box& box, const Dot& dot) {
  return std::hypot(dot.x - std::clamp(dot.x, box.left, box.right),
                    dot.y - std::clamp(dot.y, box.top, box.bottom));
}

}  // namespace

PlotAxis::PlotAxis(double low, double high, double begin, double end) : begin_(begin), end_(end) {
  CHECK(low < high);
  const double step = RoundStep((high - low) / kTicks);
  decimals_ = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  const auto first = static_cast<int>(std::floor(low / step + 1e-9));
  const auto last = static_cast<int>(std::ceil(high / step - 1e-9));
  for (int i = first; i <= last; ++i) ticks_.push_back(i * step);
}

double PlotAxis::At(double value) const {
  const double part = (value - ticks_.front()) / (ticks_.back() - ticks_.front());
  return begin_ + part * (end_ - begin_);
}

std::string PlotAxis::Label(double tick) const { return absl::StrFormat("%.*f", decimals_, tick); }

Box LabelBox(const PlacedLabel& placed, const std::string& label) {
  const double half = kLetterWidth * static_cast<double>(label.size()) / 2;
  return {placed.x - half, placed.y - kLetterHeight / 2, placed.x + half,
          placed.y + kLetterHeight / 2};
}

std::vector<PlacedLabel> PlaceLabels(std::span<const Dot> dots, const Box& frame) {
  std::vector<Box> taken;
  for (const Dot& dot : dots) taken.push_back(dot.covers);
  std::vector<PlacedLabel> labels;
  for (const Dot& dot : dots) {
    const double half = kLetterWidth * static_cast<double>(dot.label.size()) / 2;
    PlacedLabel chosen = PlaceAt(dot, half, 0, kGap);
    const auto is_free = [&](const PlacedLabel& place) {
      const Box box = LabelBox(place, dot.label);
      return frame.Holds(box) && std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
               return box.Overlaps(other);
             });
    };
    bool found = false;
    for (int ring = 0; ring < kRings && !found; ++ring) {
      for (int i = 0; i < kDirections && !found; ++i) {
        const PlacedLabel place =
            PlaceAt(dot, half, 2 * std::numbers::pi * i / kDirections, kGap + ring * kRingStep);
        found = is_free(place);
        if (found) chosen = place;
      }
    }
    const Box box = LabelBox(chosen, dot.label);
    const double own = Distance(box, dot);
    for (const Dot& other : dots) chosen.is_led_to |= &other != &dot && Distance(box, other) < own;
    taken.push_back(box);
    labels.push_back(chosen);
  }
  return labels;
}

}  // namespace banyan::server
