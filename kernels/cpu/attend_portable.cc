// Attention over one chunk of keys. For a query and a key the score is one chain of fused
// multiply-adds over the dimensions in increasing order; for a query and a dimension the result is
// one chain over the keys in increasing order.

#include <limits>
#include <type_traits>

#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/portable.h"
#include "kernels/half.h"
#include "kernels/small_floats.h"

namespace banyan::kernels::portable {
namespace {

constexpr int kWeightLanes = 2 * kLanes;
static_assert(kWeightLanes == kTileKeys);

float Widen(F16 /*format*/, std::uint16_t number) { return HalfToFloat(number); }
float Widen(Bf16 /*format*/, std::uint16_t number) { return Bf16ToFloat(number); }
float Widen(Fp8 /*format*/, std::uint8_t number) { return Fp8InUnits(number); }
float Widen(Int8 /*format*/, std::int8_t number) { return number; }

int Code(std::byte codes, bool high) { return static_cast<int>(codes) >> (high ? 4 : 0) & 15; }

// What the score of key i of a tile is multiplied with.
template <class F>
float KeyFactor(const AttendWork& work, int tile, int i) {
  const float scale = work.scale * kLog2E * F::kUnit;
  if constexpr (F::kHasScales) return scale * HalfToFloat(work.chunk->key_scales[tile][i]);
  if constexpr (std::is_same_v<F, Fp8>) {
    const auto first = static_cast<Fp8::Number>(work.chunk->keys[tile][i]);
    if ((first & 0x7f) == Fp8::kNaN) return std::numeric_limits<float>::quiet_NaN();
  }
  return scale;
}

// weights[j] = the score of key j as a power of 2, for whole tiles of keys of which one is seen.
template <class F>
void Scores(const AttendWork& work, const AttendQuery& query, float (&weights)[kChunkKeys]) {
  for (int tile = query.first / kTileKeys; tile * kTileKeys < query.last; ++tile) {
    float sums[kTileKeys] = {};
    const auto* keys = reinterpret_cast<const typename F::Number*>(work.chunk->keys[tile]);
    for (int d = 0; d < work.head_dim; ++d, keys += kTileKeys)
      for (int i = 0; i < kTileKeys; ++i)
        sums[i] = Fma(query.query[d], Widen(F(), keys[i]), sums[i]);
    for (int i = 0; i < kTileKeys; ++i)
      weights[tile * kTileKeys + i] = KeyFactor<F>(work, tile, i) * sums[i];
  }
}

// The same of sealed tiles.
template <>
void Scores<Int4>(const AttendWork& work, const AttendQuery& query, float (&weights)[kChunkKeys]) {
  for (int tile = query.first / kTileKeys; tile * kTileKeys < query.last; ++tile) {
    float sums[kTileKeys] = {};
    const std::byte* codes = work.chunk->keys[tile];
    for (int d = 0; d < work.head_dim; ++d) {
      const float scaled = query.query[d] * HalfToFloat(work.chunk->key_scales[tile][d]);
      const int zero = work.chunk->key_zeros[tile][d];
      for (int i = 0; i < kTileKeys; ++i) {
        const int code = Code(codes[d / 2 * kTileKeys + i], d % 2 == 1) - zero;
        sums[i] = Fma(scaled, static_cast<float>(code), sums[i]);
      }
    }
    for (int i = 0; i < kTileKeys; ++i)
      weights[tile * kTileKeys + i] = work.scale * kLog2E * sums[i];
  }
}

// A chunk's share in a result: partial[0] and [1].
struct Head {
  float greatest;
  float sum;
};

// Scores to weights 2^(score - greatest), in place. Lanes of keys that are not seen take the score
// -infinity and so the weight 0.
Head Softmax(int first, int last, float (&weights)[kChunkKeys]) {
  const int begin = first / kWeightLanes * kWeightLanes;
  const int end = (last + kWeightLanes - 1) / kWeightLanes * kWeightLanes;
  for (int j = begin; j < first; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  for (int j = last; j < end; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  float greatest[2][kLanes];
  for (auto& half : greatest)
    for (float& lane : half) lane = -std::numeric_limits<float>::infinity();
  for (int j = begin; j < end; ++j) {
    float& lane = greatest[j / kLanes % 2][j % kLanes];
    lane = Greater(weights[j], lane);
  }
  for (int i = 0; i < kLanes; ++i) greatest[0][i] = Greater(greatest[0][i], greatest[1][i]);
  Head head = {.greatest = HorizontalMax(greatest[0]), .sum = 0};
  float sums[2][kLanes] = {};
  for (int j = begin; j < end; ++j) {
    weights[j] = Exp2(weights[j] - head.greatest);
    sums[j / kLanes % 2][j % kLanes] += weights[j];
  }
  for (int i = 0; i < kLanes; ++i) sums[0][i] += sums[1][i];
  head.sum = HorizontalSum(sums[0]);
  return head;
}

// out[i] = the weighted sum of dimension d + i over the seen keys.
template <class F>
void WeightedSum(const AttendWork& work, const AttendQuery& query,
                 const float (&weights)[kChunkKeys], int d, float (&out)[kLanes]) {
  for (float& sum : out) sum = 0;
  for (int j = query.first; j < query.last; ++j) {
    const int tile = j / kTileKeys;
    const int in_tile = j % kTileKeys;
    const auto* value = reinterpret_cast<const typename F::Number*>(work.chunk->values[tile]) +
                        std::int64_t{in_tile} * work.head_dim + d;
    float weight = weights[j];
    if constexpr (F::kHasScales) weight *= HalfToFloat(work.chunk->value_scales[tile][in_tile]);
    for (int i = 0; i < kLanes; ++i) out[i] = Fma(weight, Widen(F(), value[i]), out[i]);
  }
  for (float& sum : out) sum *= F::kUnit;
}

template <>
void WeightedSum<Int4>(const AttendWork& work, const AttendQuery& query,
                       const float (&weights)[kChunkKeys], int d, float (&out)[kLanes]) {
  constexpr int kHalf = kSealedDims / 2;  // dimensions in low nibbles, and as many in high ones
  for (float& sum : out) sum = 0;
  for (int j = query.first; j < query.last; ++j) {
    const int tile = j / kTileKeys;
    const int in_tile = j % kTileKeys;
    const std::byte* codes = work.chunk->values[tile] + in_tile * work.head_dim / 2 +
                             d / kSealedDims * kHalf + d % kHalf;
    const std::uint16_t* scales = work.chunk->value_scales[tile] + d / kSealedDims * kTileKeys;
    const float weight = weights[j] * HalfToFloat(scales[in_tile]);
    for (int i = 0; i < kLanes; ++i) {
      const int code = Code(codes[i], d / kHalf % 2 == 1) - kValueZero;
      out[i] = Fma(weight, static_cast<float>(code), out[i]);
    }
  }
}

// What a state and a partial are multiplied with to be added.
struct Factors {
  float keep;
  float take;
};

Factors MergeHeads(const Head& partial, float* state) {
  const float greatest = Greater(partial.greatest, state[0]);
  const Factors factors = {.keep = Exp2(state[0] - greatest),
                           .take = Exp2(partial.greatest - greatest)};
  state[0] = greatest;
  state[1] = state[1] * factors.keep + partial.sum * factors.take;
  return factors;
}

template <class F>
void AttendOne(const AttendWork& work, const AttendQuery& query) {
  float weights[kChunkKeys];
  Scores<F>(work, query, weights);
  const Head head = Softmax(query.first, query.last, weights);
  Factors factors = {};
  if (work.into == AttendInto::kStates) {
    factors = MergeHeads(head, query.result);
  } else {
    query.result[0] = head.greatest;
    query.result[1] = head.sum;
  }
  for (int d = 0; d < work.head_dim; d += kLanes) {
    float sums[kLanes];
    WeightedSum<F>(work, query, weights, d, sums);
    float* out = query.result + kPartialHeader + d;
    for (int i = 0; i < kLanes; ++i)
      out[i] = work.into == AttendInto::kStates ? Fma(sums[i], factors.take, out[i] * factors.keep)
                                                : sums[i];
  }
}

template <class F>
void Attend(const AttendWork& work) {
  for (int q = 0; q < work.count; ++q) AttendOne<F>(work, work.queries[q]);
}

}  // namespace

void AttendF16(const AttendWork& work) { Attend<F16>(work); }
void AttendBf16(const AttendWork& work) { Attend<Bf16>(work); }
void AttendFp8(const AttendWork& work) { Attend<Fp8>(work); }
void AttendInt8(const AttendWork& work) { Attend<Int8>(work); }
void AttendInt4(const AttendWork& work) { Attend<Int4>(work); }

void Merge(const float* partial, int head_dim, float* state) {
  const Factors factors = MergeHeads({.greatest = partial[0], .sum = partial[1]}, state);
  for (int d = kPartialHeader; d < kPartialHeader + head_dim; ++d)
    state[d] = Fma(partial[d], factors.take, state[d] * factors.keep);
}

void Finish(const float* state, int head_dim, float* out) {
  for (int d = 0; d < head_dim; ++d) out[d] = state[kPartialHeader + d] / state[1];
}

}  // namespace banyan::kernels::portable
