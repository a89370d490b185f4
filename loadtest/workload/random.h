// Random numbers that are the same on every machine: integers, IEEE arithmetic and square roots
// only, since a library's logarithm may differ in its last bit.
#pragma once

#include <cstdint>
#include <vector>

namespace banyan::loadtest {

// 2^64 over the golden ratio, odd: multiples of it are far from each other.
inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

// A finalizer of good avalanche (Stafford's variant 13, as in SplitMix64).
constexpr std::uint64_t Mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// A key for `second` under `first`: chains of it name paths.
constexpr std::uint64_t HashKey(std::uint64_t first, std::uint64_t second) {
  return Mix(Mix(first + kGolden) ^ second);
}

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a counter behind Mix.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(Mix(seed)) {}

  std::uint64_t Next() { return Mix(state_ += kGolden); }
  // In (0, 1), neither of them: 52 bits and a half.
  double Uniform() { return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52; }
  double Exponential();                 // mean 1
  double Normal();                      // mean 0, deviation 1: Marsaglia's polar method
  double Gamma(double shape);           // scale 1; Marsaglia and Tsang, 2000
  std::int64_t Geometric(double mean);  // from 1; `mean` >= 1

 private:
  std::uint64_t state_;
};

// Ranks 0 .. n - 1 with weights 1 / (rank + 1)^exponent.
class Zipf {
 public:
  Zipf(std::int32_t n, double exponent);
  std::int32_t Draw(Random& random) const;

 private:
  std::vector<double> below_;  // the sum of weights up to and including a rank
};

// The natural logarithm of a positive number and its inverse, to a few units in the last place.
double Log(double x);
double Exp(double x);

}  // namespace banyan::loadtest
