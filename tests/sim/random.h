// The one source of chance in a simulation: the same seed gives the same numbers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/sim/path.h"

namespace banyan::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(Mix(seed)) {}

  std::uint64_t Next() { return Mix(state_++); }
  // 0 .. bound - 1; bound >= 1.
  int Below(int bound) {
    return static_cast<int>(Next() % static_cast<std::uint64_t>(bound > 1 ? bound : 1));
  }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  bool OneIn(int n) { return Below(n) == 0; }
  // The first of `count` most often, the last one rarely: its weight is 1 / (1 + index).
  int Skewed(int count);
  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(Below(static_cast<int>(from.size())))];
  }

 private:
  std::uint64_t state_;
};

inline int Random::Skewed(int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += 1.0 / (1 + i);
  double at = sum * static_cast<double>(Next() >> 11) / 9007199254740992.0;
  for (int i = 0; i < count; ++i) {
    at -= 1.0 / (1 + i);
    if (at < 0) return i;
  }
  return count - 1;
}

}  // namespace banyan::sim
