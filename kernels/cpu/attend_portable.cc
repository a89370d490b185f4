// Attention over one chunk of keys. For a query and a key the score is one chain of fused
// multiply-adds over the dimensions in increasing order; for a query and a dimension the result is
// one chain over the keys in increasing order.

#include <limits>

#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/portable.h"
#include "kernels/half.h"

namespace banyan::kernels::portable {
namespace {

// weights[j] = scale * (query . key j), for the keys up to the next multiple of 8.
void Scores(const float* keys, int count, int head_dim, float scale, const float* query,
            float (&weights)[kChunkKeys]) {
  for (int j = 0; j < count; j += kLanes) {
    float sums[kLanes] = {};
    const float* key = keys + j;
    for (int d = 0; d < head_dim; ++d, key += kChunkKeys)
      for (int i = 0; i < kLanes; ++i) sums[i] = Fma(query[d], key[i], sums[i]);
    for (int i = 0; i < kLanes; ++i) weights[j + i] = scale * sums[i];
  }
}

// Scores to weights exp(score - greatest), in place; the greatest and the sum to `partial`. Keys
// past `count` take the score -infinity and so the weight 0.
void Softmax(float (&weights)[kChunkKeys], int count, float* partial) {
  for (int j = count; j < kChunkKeys; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  float greatest[kLanes];
  for (float& lane : greatest) lane = -std::numeric_limits<float>::infinity();
  for (int j = 0; j < count; j += kLanes)
    for (int i = 0; i < kLanes; ++i) greatest[i] = Greater(greatest[i], weights[j + i]);
  partial[0] = HorizontalMax(greatest);
  for (float& weight : weights) weight = Exp(weight - partial[0]);
  float sums[kLanes] = {};
  for (int j = 0; j < count; j += kLanes)
    for (int i = 0; i < kLanes; ++i) sums[i] += weights[j + i];
  partial[1] = HorizontalSum(sums);
}

}  // namespace

void WidenKeys(const std::uint16_t* const* rows, int keys, int head_dim, float* out) {
  const int written = (keys + 15) / 16 * 16;
  for (int d = 0; d < head_dim; ++d, out += kChunkKeys)
    for (int j = 0; j < written; ++j) out[j] = j < keys ? HalfToFloat(rows[j][d]) : 0.0F;
}

void WidenValues(const std::uint16_t* const* rows, int keys, int head_dim, float* out) {
  for (int j = 0; j < keys; ++j, out += head_dim)
    for (int d = 0; d < head_dim; ++d) out[d] = HalfToFloat(rows[j][d]);
}

void Attend(const float* widened_keys, const float* widened_values, int keys, int head_dim,
            float scale, const float* const* queries, int count, float* const* partials) {
  for (int q = 0; q < count; ++q) {
    float weights[kChunkKeys];
    Scores(widened_keys, keys, head_dim, scale, queries[q], weights);
    Softmax(weights, keys, partials[q]);
    float* sums = partials[q] + kPartialHeader;
    for (int d = 0; d < head_dim; ++d) sums[d] = 0;
    const float* value = widened_values;
    for (int j = 0; j < keys; ++j, value += head_dim)
      for (int d = 0; d < head_dim; ++d) sums[d] = Fma(weights[j], value[d], sums[d]);
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
