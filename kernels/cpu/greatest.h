// The greatest of many values, of which some come at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace banyan::kernels {

class Greatest {
 public:
  // More values, the first of which is value number `first`.
  void Look(std::span<const float> values, std::int32_t first) {
    constexpr std::size_t kLanes = 16;  // that the compiler makes vectors of
    float greatest[kLanes];
    float zeros[kLanes] = {};  // x - x is 0 for finite x and NaN otherwise
    std::fill_n(greatest, kLanes, kLeast);
    std::size_t i = 0;
    for (; i + kLanes <= values.size(); i += kLanes) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        const float x = values[i + j];
        greatest[j] = x > greatest[j] ? x : greatest[j];
        zeros[j] += x - x;
      }
    }
    for (; i < values.size(); ++i) {
      greatest[0] = std::max(greatest[0], values[i]);
      zeros[0] += values[i] - values[i];
    }
    finite_ = finite_ && std::all_of(zeros, zeros + kLanes, [](float x) { return x == 0; });
    const float value = *std::max_element(greatest, greatest + kLanes);
    if (!finite_ || value < value_) return;
    Offer(value, first + static_cast<std::int32_t>(std::find(values.begin(), values.end(), value) -
                                                   values.begin()));
  }

  // What was found among other values.
  void Take(const Greatest& other) {
    finite_ = finite_ && other.finite_;
    Offer(other.value_, other.at_);
  }

  // The number of the first of the greatest; -1 where there is none, or one is not finite.
  std::int32_t at() const { return finite_ ? at_ : -1; }

 private:
  void Offer(float value, std::int32_t at) {
    if (value < value_ || (value == value_ && at_ >= 0 && at_ <= at)) return;
    value_ = value;
    at_ = at;
  }

  static constexpr float kLeast = -std::numeric_limits<float>::infinity();
  float value_ = kLeast;
  std::int32_t at_ = -1;
  bool finite_ = true;
};

}  // namespace banyan::kernels
