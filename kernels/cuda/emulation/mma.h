// A warp's product of fragments. Every product is exact and sums are rounded once, from double: a
// device adds in an order that is not documented, with fewer bits, so results differ in the last
// places.
#pragma once

#include <cstdint>
#include <source_location>

#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/convert.h"
#include "kernels/cuda/fragments.h"

namespace banyan::kernels::cuda {
namespace emulation {

struct Fragments {
  FragmentC* c;
  const FragmentA* a;
  const FragmentB* b;
};

template <class T>
float HalfOfPair(std::uint32_t pair, int half) {
  return ToFloat(T{static_cast<std::uint16_t>(pair >> 16 * half)});
}

template <class T>
void MultiplyFragments(void* const* payloads, std::uint32_t present) {
  if (present != 0xffffffffU) Block::Current().Fail("a product is of all lanes of a warp");
  double a[16][16];
  double b[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& of = *static_cast<const Fragments*>(payloads[lane]);
    for (int half = 0; half < 2; ++half) {
      for (int pair = 0; pair < 4; ++pair) {
        const FragmentPlace at = PlaceInA(lane, pair, half);
        a[at.row][at.column] = HalfOfPair<T>(of.a->pairs[pair], half);
      }
      for (int pair = 0; pair < 2; ++pair) {
        const FragmentPlace at = PlaceInB(lane, pair, half);
        b[at.row][at.column] = HalfOfPair<T>(of.b->pairs[pair], half);
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const auto& of = *static_cast<const Fragments*>(payloads[lane]);
    for (int value = 0; value < 4; ++value) {
      const FragmentPlace at = PlaceInC(lane, value);
      double sum = of.c->values[value];
      for (int k = 0; k < 16; ++k) sum += a[at.row][k] * b[k][at.column];
      of.c->values[value] = static_cast<float>(sum);
    }
  }
}

}  // namespace emulation

template <class T>
void MmaM16N8K16(FragmentC& c, const FragmentA& a, const FragmentB& b,
                 std::source_location where = std::source_location::current()) {
  emulation::Fragments own{&c, &a, &b};
  emulation::Block::Current().Meet(0xffffffffU, &own, emulation::MultiplyFragments<T>, where);
}

}  // namespace banyan::kernels::cuda
