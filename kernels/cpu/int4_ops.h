// Keys and values in 4 bits, a part of ops.h, where the rules are that hold here too. A tile of
// sixteen keys is sealed once all of them are there: each dimension has a scale and a zero of its
// own, for that is how keys are large or small (Liu et al., "KIVI", 2024); a value has a scale for
// every 32 of its dimensions.
//
//   keys    dimension d of key i is scales[d] * (code - zeros[d]); the code is in byte
//           16 (d / 2) + i, in its low nibble where d is even, else in its high one
//   values  dimension d of value i is scales[d / 32][i] * (code - 8); the code is in byte
//           i * head_dim / 2 + 16 (d / 32) + d % 16, in its low nibble where d % 32 < 16
//
// Codes are 0..15, scales f16, zeros integers. head_dim is a multiple of 32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kv_ops.h"

namespace banyan::kernels {

// The format for templates: see kv_ops.h. A number takes half a byte.
struct Int4 {
  static constexpr float kUnit = 1.0F;
};
inline constexpr int kSealedDims = 32;  // of a value that share a scale
inline constexpr int kValueZero = 8;    // the code of 0 in a value
inline constexpr int kGreatestCode = 15;
inline constexpr int kKeyTileDimBytes = kTileKeys / 2;  // codes of a dimension of sixteen keys

// One tile where it lies in a page.
struct SealedKeys {
  std::byte* codes;       // [head_dim / 2, kTileKeys]
  std::uint16_t* scales;  // [head_dim]
  std::int8_t* zeros;     // [head_dim]
};
struct SealedValues {
  std::byte* codes;       // [kTileKeys, head_dim / 2]
  std::uint16_t* scales;  // [head_dim / 32, kTileKeys]
};

struct Int4Ops {
  // Both take a tile as pages of f16 have it.
  //
  // The scale is (greatest - least) / 15 or the greatest magnitude / 127, whichever is more,
  // rounded to f16; the zero is -least / scale to nearest even, a code x / scale to nearest even +
  // zero, within 0..15 (and zeros within -127..127). Codes and zero are 0 where the scale is 0, or
  // where not all keys of the dimension are finite: then it is NaN.
  void (*seal_keys)(const std::uint16_t* keys, int head_dim, const SealedKeys& out);
  // The scale is the number of greatest magnitude / -8, of two such numbers the positive, rounded
  // to f16; a code is x / scale to nearest even + 8, within 0..15. Codes are 8 where the scale is
  // 0, or where not all 32 are finite: then it is NaN.
  void (*seal_values)(const std::uint16_t* values, int head_dim, const SealedValues& out);

  // As KvOps::attend, of sealed tiles. A score's chain is of query * scale, rounded, and
  // code - zero; then times scale * log2(e). A weighted sum's is of weight * scale, rounded, and
  // code - 8.
  void (*attend)(const AttendWork& work);
};

}  // namespace banyan::kernels
