// What a set of instructions must provide: one struct of function pointers. A variant is its files
// and one line in variants.cc. Plain types only, so that no inline function of a library is
// compiled for a machine that may not be there.
//
// Every function is a pure function of its arguments, bit for bit, and every output value depends
// only on the inputs named with it: these are the inner halves of the rules in docs/kernels.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/int4_ops.h"
#include "kernels/cpu/kv_ops.h"
#include "kernels/cpu/tiles.h"

namespace banyan::kernels {

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

// Queries that share a KV head, as they meet bounds of keys (page_choice.h): a number's part above
// 0 and its part below, of which one is 0.
struct BoundQueries {
  const float* above;  // [count, head_dim]
  const float* below;  // the same
  int count;
  int head_dim;  // a multiple of 8
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

  KvOps kv_f16, kv_bf16, kv_fp8, kv_int8;
  Int4Ops kv_int4;
  // Merges the partial of the next chunk into `state`, which starts as {-inf, 0, .., 0, ..}: the
  // greatest score of both, and with keep and take = 2^(old - greatest) of the one and the other
  // state * keep + partial * take, fused but for the sum of weights.
  void (*merge)(const float* partial, int head_dim, float* state);
  // out[d] = the state's weighted sum / its sum of weights.
  void (*finish)(const float* state, int head_dim, float* out);

  // The sum over queries of the sum over d of above[d] * greatest[d] + below[d] * least[d], bounds
  // as bf16; infinity where it is not finite. A query's is that of eight lanes, of dimension d in
  // lane d % 8, each a chain of additions of those, nothing fused, then lane i with i + 4, i + 2, i
  // + 1; queries are added in order, from 0.
  float (*score_bounds)(const BoundQueries& queries, const std::uint16_t* least,
                        const std::uint16_t* greatest);

  // What rows note of slots (observers.h); nothing is fused.
  // scores[i] = factors[i] * (the sum over d of q[d] * tile[d * kTileKeys + i], in order, from 0).
  void (*score_tile)(const float* q, int head_dim, const float* tile, const float* factors,
                     float* scores);
  // Of `slots` scores, as powers of 2: probabilities[i] += 2^scores[i] * (1 / the sum of all such),
  // or nothing where that is not a number. The sum is that of eight lanes, as of score_bounds.
  // Both arrays have room for a multiple of 8; behind the scores, what is there is overwritten, and
  // behind the probabilities are numbers that stay as they are.
  void (*add_probabilities)(float* scores, std::int64_t slots, float* probabilities);
};

}  // namespace banyan::kernels
