// Philox4x32-10, a counter-based random generator: the n-th number is a function of (key, n), so a
// draw depends neither on what was drawn before nor on which step it fell into.
// Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace banyan::model {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

constexpr PhiloxCounter Philox(PhiloxCounter counter, PhiloxKey key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Uniform over the multiples of 2^-53 in [0, 1), from the counter's first two words.
constexpr double UniformFrom(const PhiloxCounter& random) {
  const std::uint64_t bits = (std::uint64_t{random[0]} << 32) | random[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace banyan::model
