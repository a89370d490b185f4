// What a set of instructions does with the pages of a format: a part of ops.h, where the rules are
// that hold here too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan::kernels {

inline constexpr int kChunkKeys = 64;  // keys of one chunk of attention, by absolute position
inline constexpr int kTileKeys = 16;   // keys of a chunk whose dimensions lie beside each other
inline constexpr float kLog2E = 1.44269504F;  // scores are powers of 2

// The formats, for templates. What is widened is exact, but a kUnit-th of the number; where there
// are scales, a code without its scale.
struct F16 {
  using Number = std::uint16_t;
  static constexpr float kUnit = 1.0F;
  static constexpr bool kHasScales = false;
};
struct Bf16 {
  using Number = std::uint16_t;
  static constexpr float kUnit = 1.0F;
  static constexpr bool kHasScales = false;
};
// With the exponent of f16 over the bits of e4m3.
struct Fp8 {
  using Number = std::uint8_t;
  static constexpr float kUnit = 256.0F;
  static constexpr bool kHasScales = false;
  static constexpr Number kNaN = 0x7f;
};
struct Int8 {
  using Number = std::int8_t;
  static constexpr float kUnit = 1.0F;
  static constexpr bool kHasScales = true;
};

// One chunk's result for one query: partial[0] the greatest score, partial[1] the sum of the
// weights 2^(score - greatest), partial[kPartialHeader + d] the weighted sum of the values.
inline constexpr int kPartialHeader = 16;

// One chunk in tiles, as pages have them. Number d * kTileKeys + i at keys[t] is dimension d of key
// 16 t + i, number i * head_dim + d at values[t] that of its value. Where the format has scales,
// key_scales[t][i] and value_scales[t][i] are theirs (f16). For int4 see int4_ops.h.
struct ChunkTiles {
  const std::byte* keys[kChunkKeys / kTileKeys];
  const std::byte* values[kChunkKeys / kTileKeys];
  const std::uint16_t* key_scales[kChunkKeys / kTileKeys];
  const std::uint16_t* value_scales[kChunkKeys / kTileKeys];
  const std::int8_t* key_zeros[kChunkKeys / kTileKeys];
};

// A query that sees keys first .. last - 1 of a chunk, and no others.
struct AttendQuery {
  const float* query;  // [head_dim]
  int first;           // 0 <= first < last <= kChunkKeys
  int last;
  float* result;  // [kPartialHeader + head_dim]
};

// What a result becomes: the chunk's partial, or itself merged with that (`merge`).
enum class AttendInto : std::uint8_t { kPartials, kStates };

// Queries to one chunk, quickest where neighbours see almost the same keys.
struct AttendWork {
  const ChunkTiles* chunk;  // tiles that none sees a key of are not read, nor unseen values
  int head_dim;             // a multiple of 8
  float scale;
  const AttendQuery* queries;
  int count;
  AttendInto into;
  // What the caller reads next, or null: a variant may fetch it from memory meanwhile. Every
  // address in it is one of tiles, also for those that there are not.
  const ChunkTiles* next = nullptr;
};

struct KvOps {
  // Rounds a head's key or value, n numbers (a multiple of 8), each to nearest even.
  //   e4m3  has no infinity: with one or a NaN among them all numbers become NaN (kNaN).
  //   int8  The scale is the greatest magnitude / 127, rounded to f16; then code i is x[i] / scale,
  //         to nearest even and no further from 0 than 127. All codes are 0 where the scale is 0,
  //         or not finite: then it is NaN.
  void (*store)(const float* x, std::int64_t n, std::byte* out, std::uint16_t* scale);

  // The partial of each query. The score of a key is f * s: s one chain of fused multiply-adds of
  // the query and what is widened of the key, over d = 0, 1, .., from 0; f = scale * log2(e) *
  // kUnit, times the key's scale, and NaN for a key of e4m3 whose number 0 is. The weighted sum of
  // a dimension is one such chain over the seen keys in order, from 0, of weights (times the
  // value's scale) and what is widened of the values; then times kUnit. The sum of the weights, of
  // no scale, is that of sixteen lanes, key j in lane j % 16, each a chain of additions over j,
  // then lane i with i + 8, i + 4, i + 2, i + 1. What lies in slots of a tile that are not seen
  // may be NaN.
  void (*attend)(const AttendWork& work);

  // n numbers (a multiple of 8) of keys or values, as they are widened.
  void (*widen)(const std::byte* numbers, std::int64_t n, float* out);
};

}  // namespace banyan::kernels
