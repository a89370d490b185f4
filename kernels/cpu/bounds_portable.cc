// What a query makes of the bounds of a page's keys.
#include <limits>

#include "kernels/cpu/portable.h"
#include "kernels/small_floats.h"

namespace banyan::kernels::portable {

float ScoreBounds(const BoundQueries& queries, const std::uint16_t* least,
                  const std::uint16_t* greatest) {
  constexpr int kLanes = 8;
  float sum = 0;
  for (int query = 0; query < queries.count; ++query) {
    const float* above = queries.above + query * queries.head_dim;
    const float* below = queries.below + query * queries.head_dim;
    float s[kLanes] = {};
    for (int at = 0; at < queries.head_dim; at += kLanes) {
      for (int i = 0; i < kLanes; ++i) {
        const int d = at + i;
        s[i] += above[d] * Bf16ToFloat(greatest[d]) + below[d] * Bf16ToFloat(least[d]);
      }
    }
    sum += ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }
  return sum - sum == 0.0F ? sum : std::numeric_limits<float>::infinity();
}

}  // namespace banyan::kernels::portable
