// Attention's weights in plain C++: products and sums in one order, none fused, so that they are
// the same bits on every machine.
#pragma once

#include <cstdint>

#include "kernels/cpu/kv_ops.h"

namespace banyan::kernels {

// scores[i] = factors[i] * (the sum over d of q[d] * tile[d * kTileKeys + i], in order), for
// kTileKeys keys.
void ScoreTile(const float* q, std::int32_t head_dim, const float* tile, const float* factors,
               float* scores);

// Of `slots` scores, as powers of 2: probabilities[i] += 2^scores[i] / (the sum of all such); or
// nothing, where that is not a number. Both have room for a multiple of kTileKeys, and what lies
// behind the scores is overwritten.
void AddProbabilities(float* scores, std::int64_t slots, float* probabilities);

}  // namespace banyan::kernels
