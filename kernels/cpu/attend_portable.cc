// Attention over one chunk of keys. For a query and a key the score is one chain of fused
// multiply-adds over the dimensions in increasing order; for a query and a dimension the result is
// one chain over the keys in increasing order.

#include <limits>

#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/portable.h"
#include "kernels/half.h"

namespace banyan::kernels::portable {
namespace {

constexpr int kWeightLanes = 2 * kLanes;
static_assert(kWeightLanes == kTileKeys);

// weights[j] = scale * (query . key j) as a power of 2, for whole tiles of keys of which one is
// seen.
void Scores(const AttendWork& work, const AttendQuery& query, float (&weights)[kChunkKeys]) {
  const float scale = work.scale * kLog2E;
  for (int tile = query.first / kTileKeys; tile * kTileKeys < query.last; ++tile) {
    float sums[kTileKeys] = {};
    const std::uint16_t* keys = work.chunk->keys[tile];
    for (int d = 0; d < work.head_dim; ++d, keys += kTileKeys)
      for (int i = 0; i < kTileKeys; ++i)
        sums[i] = Fma(query.query[d], HalfToFloat(keys[i]), sums[i]);
    for (int i = 0; i < kTileKeys; ++i) weights[tile * kTileKeys + i] = scale * sums[i];
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

// out[i] = sum over the seen j of weights[j] * values[j][d + i].
void WeightedSum(const AttendWork& work, const AttendQuery& query,
                 const float (&weights)[kChunkKeys], int d, float (&out)[kLanes]) {
  for (float& sum : out) sum = 0;
  for (int j = query.first; j < query.last; ++j) {
    const std::uint16_t* value =
        work.chunk->values[j / kTileKeys] + std::int64_t{j % kTileKeys} * work.head_dim + d;
    for (int i = 0; i < kLanes; ++i) out[i] = Fma(weights[j], HalfToFloat(value[i]), out[i]);
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

void AttendOne(const AttendWork& work, const AttendQuery& query) {
  float weights[kChunkKeys];
  Scores(work, query, weights);
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
    WeightedSum(work, query, weights, d, sums);
    float* out = query.result + kPartialHeader + d;
    for (int i = 0; i < kLanes; ++i)
      out[i] = work.into == AttendInto::kStates ? Fma(sums[i], factors.take, out[i] * factors.keep)
                                                : sums[i];
  }
}

}  // namespace

void Attend(const AttendWork& work) {
  for (int q = 0; q < work.count; ++q) AttendOne(work, work.queries[q]);
}

void Merge(const float* partial, int head_dim, float* state) {
  const Factors factors = MergeHeads({.greatest = partial[0], .sum = partial[1]}, state);
  for (int d = kPartialHeader; d < kPartialHeader + head_dim; ++d)
    state[d] = Fma(partial[d], factors.take, state[d] * factors.keep);
}

void Finish(const float* state, int head_dim, float* out) {
  for (int d = 0; d < head_dim; ++d) out[d] = state[kPartialHeader + d] / state[1];
}

}  // namespace banyan::kernels::portable
