// The fragments of mma.sync.m16n8k16 as the PTX ISA lays them out ("Matrix fragments for
// mma.m16n8k16 with floating point type"): which numbers of a 16x16 A (row-major), a 16x8 B (by
// columns) and a 16x8 C a lane of the warp holds. Two numbers of 16 bits share a register, the one
// of the lower column (A) or row (B) in its lower half.
#pragma once

#include <cstdint>

namespace banyan::kernels::cuda {

struct FragmentA {
  std::uint32_t pairs[4];
};
struct FragmentB {
  std::uint32_t pairs[2];
};
struct FragmentC {
  float values[4];
};

struct FragmentPlace {
  int row;
  int column;
};

// Number `half` (0 or 1) of register `pair` in a lane.
constexpr FragmentPlace PlaceInA(int lane, int pair, int half) {
  return {lane / 4 + pair % 2 * 8, lane % 4 * 2 + pair / 2 * 8 + half};
}
constexpr FragmentPlace PlaceInB(int lane, int pair, int half) {
  return {lane % 4 * 2 + pair * 8 + half, lane / 4};
}
constexpr FragmentPlace PlaceInC(int lane, int value) {
  return {lane / 4 + value / 2 * 8, lane % 4 * 2 + value % 2};
}

}  // namespace banyan::kernels::cuda
