// Attention over one chunk of keys. For a query and a key the score is one chain of fused
// multiply-adds over the dimensions in increasing order; for a query and a dimension the result is
// one chain over the keys in increasing order.

#include <limits>

#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/portable.h"
#include "kernels/half.h"

namespace banyan::kernels::portable {
namespace {

// weights[j] = scale * (query . key j), for whole tiles of keys of which one is seen.
void Scores(const AttendWork& work, const float* query, float (&weights)[kChunkKeys]) {
  for (int tile = work.first / kTileKeys; tile * kTileKeys < work.last; ++tile) {
    float sums[kTileKeys] = {};
    const std::uint16_t* keys = work.chunk->keys[tile];
    for (int d = 0; d < work.head_dim; ++d, keys += kTileKeys)
      for (int i = 0; i < kTileKeys; ++i) sums[i] = Fma(query[d], HalfToFloat(keys[i]), sums[i]);
    for (int i = 0; i < kTileKeys; ++i) weights[tile * kTileKeys + i] = work.scale * sums[i];
  }
}

// Scores to weights exp(score - greatest), in place; the greatest and the sum to `partial`. Lanes
// of keys that are not seen take the score -infinity and so the weight 0.
void Softmax(int first, int last, float (&weights)[kChunkKeys], float* partial) {
  const int begin = first / kLanes * kLanes;
  const int end = (last + kLanes - 1) / kLanes * kLanes;
  for (int j = begin; j < first; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  for (int j = last; j < end; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  float greatest[kLanes];
  for (float& lane : greatest) lane = -std::numeric_limits<float>::infinity();
  for (int j = begin; j < end; ++j)
    greatest[j % kLanes] = Greater(greatest[j % kLanes], weights[j]);
  partial[0] = HorizontalMax(greatest);
  float sums[kLanes] = {};
  for (int j = begin; j < end; ++j) {
    weights[j] = Exp(weights[j] - partial[0]);
    sums[j % kLanes] += weights[j];
  }
  partial[1] = HorizontalSum(sums);
}

// out[d] = sum over j of weights[j] * values[j][d].
void WeightedSum(const AttendWork& work, const float (&weights)[kChunkKeys], float* out) {
  for (int d = 0; d < work.head_dim; ++d) out[d] = 0;
  for (int j = work.first; j < work.last; ++j) {
    const std::uint16_t* value = work.chunk->values[j];
    for (int d = 0; d < work.head_dim; ++d) out[d] = Fma(weights[j], HalfToFloat(value[d]), out[d]);
  }
}

}  // namespace

void Attend(const AttendWork& work) {
  for (int q = 0; q < work.count; ++q) {
    float weights[kChunkKeys];
    Scores(work, work.queries[q], weights);
    Softmax(work.first, work.last, weights, work.partials[q]);
    WeightedSum(work, weights, work.partials[q] + kPartialHeader);
  }
}

void Merge(const float* partial, int head_dim, float* state) {
  const float greatest = Greater(partial[0], state[0]);
  const float keep = Exp(state[0] - greatest);
  const float take = Exp(partial[0] - greatest);
  state[0] = greatest;
  state[1] = state[1] * keep + partial[1] * take;
  for (int d = kPartialHeader; d < kPartialHeader + head_dim; ++d)
    state[d] = Fma(partial[d], take, state[d] * keep);
}

void Finish(const float* state, int head_dim, float* out) {
  for (int d = 0; d < head_dim; ++d) out[d] = state[kPartialHeader + d] / state[1];
}

}  // namespace banyan::kernels::portable
