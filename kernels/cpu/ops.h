// What a set of instructions must provide: one struct of function pointers. A variant is its files
// and one line in variants.cc. Plain types only, so that no inline function of a library is
// compiled for a machine that may not be there.
//
// Every function is a pure function of its arguments, bit for bit, and every output value depends
// only on the inputs named with it: these are the inner halves of the rules in docs/kernels.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/tiles.h"

namespace banyan::kernels {

inline constexpr int kChunkKeys = 64;  // keys of one chunk of attention, by absolute position
inline constexpr int kTileKeys = 16;   // keys of a chunk whose dimensions lie beside each other
inline constexpr float kLog2E = 1.44269504F;  // scores are powers of 2

// Activations as quantized weights meet them: value i is about scale * q[i].
struct QuantBlock {
  std::int8_t q[kQuantBlock];  // -127..127
  float scale;
  float sum;  // scale * (q[0] + .. + q[31])
  // centring[g][p] = -16 * the sum of q[16 g + 4 k + 2 p] + q[16 g + 4 k + 2 p + 1] over k < 4:
  // where sums of 16 bits start that are to be of code - 16.
  std::int16_t centring[2][2];
};
static_assert(sizeof(QuantBlock) == 48);

enum class Store : std::uint8_t { kSet, kAdd };

struct MatMulWork {
  const std::byte* tiles;
  std::int64_t depth;  // blocks of columns (quantized) or columns (floats)
  // Row r of the input: quants + r * quant_stride, or floats + r * float_stride.
  const QuantBlock* quants;
  std::int64_t quant_stride;
  const float* floats;
  std::int64_t float_stride;
  std::int32_t rows;
  // Output o of row r: out[r * out_stride + o]; whole tiles are written.
  float* out;
  std::int64_t out_stride;
  Store store;
};

// Where a row of activations goes: either may be null. `blocks` needs cols % 32 == 0.
struct RowOut {
  QuantBlock* blocks;
  float* floats;
};

// One chunk's result for one query: partial[0] the greatest score, partial[1] the sum of the
// weights 2^(score - greatest), partial[kPartialHeader + d] the weighted sum of the values.
inline constexpr int kPartialHeader = 16;

// The halves (f16) of one chunk, in tiles: keys[t][d * kTileKeys + i] is dimension d of key 16 t +
// i, values[t][i * head_dim + d] that of its value.
struct ChunkHalves {
  const std::uint16_t* keys[kChunkKeys / kTileKeys];
  const std::uint16_t* values[kChunkKeys / kTileKeys];
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
  const ChunkHalves* chunk;  // tiles that none sees a key of are not read, nor unseen values
  int head_dim;              // a multiple of 8
  float scale;
  const AttendQuery* queries;
  int count;
  AttendInto into;
  // What the caller reads next, or null: a variant may fetch it from memory meanwhile. Every
  // address in it is one of keys or values, also for those that there are not.
  const ChunkHalves* next = nullptr;
};

struct Ops {
  // Outputs of tiles first .. last - 1, for all rows.
  using MatMul = void (*)(const MatMulWork& work, std::int64_t first, std::int64_t last);
  MatMul matmul_f32, matmul_f16, matmul_bf16;
  MatMul matmul_q4_0, matmul_q4_1, matmul_q5_0, matmul_q5_1, matmul_q8_0;
  MatMul matmul_q4_k, matmul_q5_k, matmul_q6_k;

  void (*quantize)(const float* x, std::int64_t cols, const RowOut& out);
  void (*rms_norm)(const float* x, const float* weight, float eps, std::int64_t cols,
                   const RowOut& out);
  // x += norm(in).
  void (*rms_norm_add)(const float* in, const float* weight, float eps, std::int64_t cols,
                       float* x);
  void (*add)(const float* v, std::int64_t cols, float* x);  // x += v
  using Gate = void (*)(const float* gate, const float* up, std::int64_t cols, const RowOut& out);
  Gate gate_silu;
  Gate gate_gelu_tanh;

  // Both turn the first `dims` values of x; for the layouts of cos and sin see rope_table.h.
  using Rotate = void (*)(float* x, const float* cos, const float* sin, std::int64_t dims);
  Rotate rotate_neighbours;
  Rotate rotate_halves;
  // Round to nearest even; n is a multiple of 8.
  void (*store_f16)(const float* x, std::int64_t n, std::uint16_t* out);

  // The partial of each query. Halves are widened exactly; the score of a key is
  // scale * log2(e) * (one chain of fused multiply-adds over d = 0, 1, .., from 0), the weighted
  // sum of a dimension one such chain over the seen keys in order, from 0. The sum of the weights
  // is that of sixteen lanes, key j in lane j % 16, each a chain of additions over j, then lane i
  // with i + 8, i + 4, i + 2, i + 1. What lies in slots of a tile that are not seen may be NaN.
  void (*attend)(const AttendWork& work);
  // Merges the partial of the next chunk into `state`, which starts as {-inf, 0, .., 0, ..}: the
  // greatest score of both, and with keep and take = 2^(old - greatest) of the one and the other
  // state * keep + partial * take, fused but for the sum of weights.
  void (*merge)(const float* partial, int head_dim, float* state);
  // out[d] = the state's weighted sum / its sum of weights.
  void (*finish)(const float* state, int head_dim, float* out);
};

}  // namespace banyan::kernels
