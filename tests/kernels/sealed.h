// Tiles sealed in 4 bits, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/ops.h"
#include "tests/kernels/kept.h"

namespace banyan::kernels::testing {

// Sixteen keys and their values, with their memory.
struct SealedTile {
  explicit SealedTile(int dims)
      : head_dim(dims),
        key_codes(static_cast<std::size_t>(kTileKeys * dims / 2)),
        value_codes(key_codes.size()),
        key_scales(static_cast<std::size_t>(dims)),
        value_scales(static_cast<std::size_t>(dims / kSealedDims * kTileKeys)),
        key_zeros(static_cast<std::size_t>(dims)) {}

  SealedKeys Keys() { return {key_codes.data(), key_scales.data(), key_zeros.data()}; }
  SealedValues Values() { return {value_codes.data(), value_scales.data()}; }

  // What the tile says.
  int KeyCode(int i, int d) const { return Nibble(key_codes[Index(d / 2 * kTileKeys + i)], d % 2); }
  float Key(int i, int d) const {
    return HalfValue(key_scales[Index(d)]) *
           static_cast<float>(KeyCode(i, d) - key_zeros[Index(d)]);
  }
  float Value(int i, int d) const {
    const int at = i * head_dim / 2 + d / 32 * 16 + d % 16;
    const int code = Nibble(value_codes[Index(at)], d / 16 % 2);
    return HalfValue(value_scales[Index(d / 32 * kTileKeys + i)]) * static_cast<float>(code - 8);
  }

  static std::size_t Index(int i) { return static_cast<std::size_t>(i); }
  static int Nibble(std::byte byte, int high) { return static_cast<int>(byte) >> 4 * high & 15; }

  int head_dim;
  std::vector<std::byte> key_codes;
  std::vector<std::byte> value_codes;
  std::vector<std::uint16_t> key_scales;
  std::vector<std::uint16_t> value_scales;
  std::vector<std::int8_t> key_zeros;
};

}  // namespace banyan::kernels::testing
