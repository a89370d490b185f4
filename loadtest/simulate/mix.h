// A bijection of 64 bits that scatters (the finalizer of SplitMix64: Steele, Lea, Flood 2014).
#pragma once

#include <cstdint>

namespace banyan::loadtest {

inline std::uint64_t Mix(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return bits ^ bits >> 31;
}

}  // namespace banyan::loadtest
