// Attention over one chunk of keys. For a query and a key the score is one chain of fused
// multiply-adds over the dimensions in increasing order; for a query and a dimension the result is
// one chain over the keys in increasing order.

#include <limits>

#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/portable.h"
#include "kernels/half.h"

namespace banyan::kernels::portable {
namespace {

// Queries that go together, so that a half is widened once for all of them.
constexpr int kGroup = 4;

struct Group {
  const float* const* queries;
  float* const* partials;
  int count;  // 1..kGroup
  float weights[kGroup][kChunkKeys];
};

// weights[q][j] = scale * (query q . key j), for whole lanes of seen keys.
void Scores(const AttendWork& work, Group& group) {
  for (int j = work.first / kLanes * kLanes; j < work.last; j += kLanes) {
    float sums[kGroup][kLanes] = {};
    const std::uint16_t* key = work.chunk->keys[j / kTileKeys] + j % kTileKeys;
    for (int d = 0; d < work.head_dim; ++d, key += kTileKeys) {
      float wide[kLanes];
      for (int i = 0; i < kLanes; ++i) wide[i] = HalfToFloat(key[i]);
      for (int q = 0; q < group.count; ++q)
        for (int i = 0; i < kLanes; ++i) sums[q][i] = Fma(group.queries[q][d], wide[i], sums[q][i]);
    }
    for (int q = 0; q < group.count; ++q)
      for (int i = 0; i < kLanes; ++i) group.weights[q][j + i] = work.scale * sums[q][i];
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

// partials[q][header + d] = sum over j of weights[q][j] * values[j][d].
void WeightedSums(const AttendWork& work, const Group& group) {
  for (int d = 0; d < work.head_dim; d += kLanes) {
    float sums[kGroup][kLanes] = {};
    for (int j = work.first; j < work.last; ++j) {
      float wide[kLanes];
      for (int i = 0; i < kLanes; ++i) wide[i] = HalfToFloat(work.chunk->values[j][d + i]);
      for (int q = 0; q < group.count; ++q)
        for (int i = 0; i < kLanes; ++i) sums[q][i] = Fma(group.weights[q][j], wide[i], sums[q][i]);
    }
    for (int q = 0; q < group.count; ++q)
      for (int i = 0; i < kLanes; ++i) group.partials[q][kPartialHeader + d + i] = sums[q][i];
  }
}

}  // namespace

void Attend(const AttendWork& work) {
  for (int q = 0; q < work.count; q += kGroup) {
    const int count = work.count - q < kGroup ? work.count - q : kGroup;
    Group group = {work.queries + q, work.partials + q, count, {}};
    Scores(work, group);
    for (int i = 0; i < count; ++i)
      Softmax(work.first, work.last, group.weights[i], group.partials[i]);
    WeightedSums(work, group);
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
