// Where values lie along an axis of a plot, and which of them are written there.
#pragma once

#include <string>
#include <vector>

#include "loadtest/report/plot.h"

namespace banyan::loadtest {

// From values to lengths: an axis between two values that a reader finds round.
class Projection {
 public:
  // `values` are all that is to be seen; those that cannot be placed (NaN, infinite, not > 0 on a
  // logarithmic axis, not in [0, 1) on one for tails) count for nothing. `length` > 0; `ticks`:
  // about so many are wanted, >= 2.
  Projection(const Axis& axis, const std::vector<double>& values, double length, int ticks);

  // Whether there was a value that can be placed.
  bool any() const { return any_; }
  bool Places(double value) const;
  // 0..length for what is shown, outside for what is not.
  double At(double value) const;

  struct Tick {
    double value = 0;
    std::string label;
  };
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  void Linear(const Axis& axis, int ticks);
  void Log(const Axis& axis, int ticks);
  void Tail();
  void AddTick(double value);
  void AddLinearTicks(double step);
  double Transformed(double value) const;

  Scale scale_;
  double length_;
  bool any_ = false;
  double low_ = 0, high_ = 1;  // values
  std::vector<Tick> ticks_;
};

// "0", "0.25", "250", "2.5k", "12M".
std::string TickLabel(double value);

}  // namespace banyan::loadtest
