#include "loadtest/report/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace banyan::loadtest {
namespace {

// A part of all that is nearer to 1 than this is drawn there.
constexpr double kMostTail = 1 - 1e-9;
// The least that a logarithmic axis shows below its largest value.
constexpr double kMostDecades = 12;

// 1, 2 or 5 times a power of ten, not under `least` > 0.
double RoundUp(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double RoundDown(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double factor : {5.0, 2.0}) {
    if (factor * power <= most * (1 + 1e-9)) return factor * power;
  }
  return power;
}

}  // namespace

std::string TickLabel(double value) {
  const double size = std::abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return absl::StrFormat("%.3g", value);
  for (const auto& [unit, letter] : {std::pair(1e12, "T"), {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}) {
    if (size >= unit * 0.9999995) return absl::StrFormat("%.6g%s", value / unit, letter);
  }
  return absl::StrFormat("%.6g", value);
}

Projection::Projection(const Axis& axis, const std::vector<double>& values, double length,
                       int ticks)
    : scale_(axis.scale), length_(length) {
  for (const double value : values) {
    if (!Places(value)) continue;
    low_ = any_ ? std::min(low_, value) : value;
    high_ = any_ ? std::max(high_, value) : value;
    any_ = true;
  }
  if (!any_) low_ = high_ = 1;
  if (axis.from && Places(*axis.from)) low_ = *axis.from;
  if (axis.to && Places(*axis.to)) high_ = *axis.to;
  high_ = std::max(low_, high_);
  switch (scale_) {
    case Scale::kLinear:
      Linear(axis, ticks);
      break;
    case Scale::kLog:
      Log(axis, ticks);
      break;
    case Scale::kTail:
      Tail();
      break;
  }
}

bool Projection::Places(double value) const {
  if (!std::isfinite(value) || std::abs(value) > 1e300) return false;
  if (scale_ == Scale::kLog) return value > 1e-300;
  return scale_ == Scale::kLinear || (value >= 0 && value < 1);
}

double Projection::Transformed(double value) const {
  switch (scale_) {
    case Scale::kLinear:
      return value;
    case Scale::kLog:
      return std::log10(value);
    case Scale::kTail:
      return -std::log10(1 - std::min(value, kMostTail));
  }
  return value;
}

double Projection::At(double value) const {
  const double low = Transformed(low_);
  const double high = Transformed(high_);
  return length_ * (Transformed(value) - low) / (high - low);
}

void Projection::AddTick(double value) { ticks_.push_back({value, TickLabel(value)}); }

void Projection::AddLinearTicks(double step) {
  const double first = std::ceil(low_ / step - 1e-9);
  for (int i = 0; i < 50; ++i) {
    const double value = (first + i) * step;
    if (value > high_ + step * 1e-9) return;
    // A difference of nearly equal numbers is not quite zero.
    AddTick(std::abs(value) < step * 1e-9 ? 0 : value);
  }
}

void Projection::Linear(const Axis& axis, int ticks) {
  if (!axis.from && low_ > 0 && low_ < 0.5 * high_) low_ = 0;
  if (high_ <= low_ + std::abs(low_) * 1e-9) {  // one value
    if (low_ > 0) low_ = axis.from.value_or(0);
    if (high_ <= low_) high_ = low_ + std::max(1.0, std::abs(low_));
  }
  const double step = std::max(RoundUp((high_ - low_) / ticks), axis.whole ? 1.0 : 0.0);
  if (!axis.from) low_ = std::floor(low_ / step + 1e-9) * step;
  if (!axis.to) high_ = std::ceil(high_ / step - 1e-9) * step;
  AddLinearTicks(step);
}

void Projection::Log(const Axis& axis, int ticks) {
  low_ = std::max(low_, high_ * std::pow(10, -kMostDecades));
  if (!axis.from) low_ = RoundDown(low_);
  if (!axis.to) high_ = RoundUp(high_);
  if (high_ <= low_ * 1.0001) {
    low_ = low_ / 2;
    high_ = high_ * 2;
  }
  const double decades = std::log10(high_ / low_);
  if (decades < 0.9) return AddLinearTicks(RoundUp((high_ - low_) / ticks));
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / ticks)));
  const bool between = 3 * decades <= 1.5 * ticks;
  for (int power = static_cast<int>(std::floor(std::log10(low_))); power < 301; power += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, power);
      if (value > high_ * (1 + 1e-9)) return;
      if (value >= low_ * (1 - 1e-9) && (factor == 1 || between)) AddTick(value);
    }
  }
}

void Projection::Tail() {
  static constexpr std::array<std::pair<double, const char*>, 8> kTicks = {
      {{0, "p0"},
       {0.5, "p50"},
       {0.9, "p90"},
       {0.99, "p99"},
       {0.999, "p99.9"},
       {0.9999, "p99.99"},
       {0.99999, "p99.999"},
       {0.999999, "p99.9999"}}};
  low_ = 0;
  high_ = std::clamp(high_, 0.9, kMostTail);
  for (const auto& [value, label] : kTicks) {
    if (value <= high_) ticks_.push_back({value, label});
  }
}

}  // namespace banyan::loadtest
