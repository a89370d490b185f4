#include "loadtest/workload/random.h"

#include <algorithm>
#include <cmath>

namespace banyan::loadtest {
namespace {

constexpr double kLn2High = 0x1.62e42fefa38p-1;  // its last bits are 0: times 2^11 it is exact
constexpr double kLn2Low = 0x1.ef35793c7673p-45;

}  // namespace

double Log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  if (mantissa < 0x1.6a09e667f3bcdp-1) {       // the root of 1/2
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)); the argument is under 0.172, so 12 terms do.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * kLn2High + (2 * s * sum + exponent * kLn2Low);
}

double Exp(double x) {
  if (x > 700) x = 700;
  if (x < -700) return 0;
  const double count = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double rest = (x - count * kLn2High) - count * kLn2Low;  // at most 0.35
  double sum = 1;
  for (int k = 16; k >= 1; --k) sum = 1 + sum * rest / k;
  return std::ldexp(sum, static_cast<int>(count));
}

double Random::Exponential() { return -Log(Uniform()); }

double Random::Normal() {
  while (true) {
    const double x = 2 * Uniform() - 1;
    const double y = 2 * Uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * Log(square) / square);
  }
}

double Random::Gamma(double shape) {
  if (shape < 1) return Gamma(shape + 1) * Exp(Log(Uniform()) / shape);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double normal = Normal();
    const double root = 1 + c * normal;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (Log(Uniform()) < 0.5 * normal * normal + d - d * v + d * Log(v)) return d * v;
  }
}

std::int64_t Random::Geometric(double mean) {
  if (mean <= 1) return 1;
  return 1 + static_cast<std::int64_t>(std::floor(Log(Uniform()) / Log(1 - 1 / mean)));
}

Zipf::Zipf(std::int32_t n, double exponent) {
  below_.reserve(static_cast<std::size_t>(n));
  double sum = 0;
  for (std::int32_t rank = 1; rank <= n; ++rank) {
    sum += Exp(-exponent * Log(rank));
    below_.push_back(sum);
  }
}

std::int32_t Zipf::Draw(Random& random) const {
  const double at = random.Uniform() * below_.back();
  const auto found = std::upper_bound(below_.begin(), below_.end() - 1, at);
  return static_cast<std::int32_t>(found - below_.begin());
}

}  // namespace banyan::loadtest
