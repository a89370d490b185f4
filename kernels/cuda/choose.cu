// Queries choose pages: each page gets its score by bounds, then each row and KV head takes those
// with the greatest ones, in their order.

#include "kernels/cuda/choices.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/in_order.cuh"
#include "kernels/cuda/ranks.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 8;  // that share a page, each with every eighth dimension
constexpr int kPages = kThreads / kLanes;

// A sum that is no number, or infinite, is above all others: who may be seen by it reads the page.
__global__ void __launch_bounds__(kThreads)
    ScorePagesKernel(ChoiceStep step, BoundsView bounds, std::int32_t layer) {
  const ChoosingRow row = step.rows[blockIdx.z];
  const auto kv_head = static_cast<std::int32_t>(blockIdx.y);
  const int index = static_cast<int>(blockIdx.x) * kPages + static_cast<int>(threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  const bool is_old = index < row.old;
  const int head_dim = bounds.head_dim;
  const int group = step.heads / bounds.kv_heads;
  const float* q = step.q + (std::int64_t{row.row} * step.heads + kv_head * group) * head_dim;
  const Bf16* least = bounds.numbers;
  if (is_old) least += bounds.At(step.tables[row.seen_page + index], layer, kv_head);
  const Bf16* greatest = least + head_dim;
  float score = 0.0F;
  for (int head = 0; head < group; ++head, q += head_dim) {
    float sum = 0.0F;
    for (int d = lane; is_old && d < head_dim; d += kLanes) {
      const float above = q[d] > 0.0F ? q[d] : 0.0F;
      const float below = q[d] - above;  // NaN where it is no number
      sum += above * ToFloat(greatest[d]) + below * ToFloat(least[d]);
    }
    for (int bits = kLanes / 2; bits > 0; bits /= 2) sum += __shfl_xor_sync(kAllLanes, sum, bits);
    score += sum;
  }
  if (!is_old || lane != 0) return;
  step.scores[row.score + std::int64_t{kv_head} * row.old + index] =
      score - score == 0.0F ? score : INFINITY;
}

__global__ void __launch_bounds__(kThreads) ChoosePagesKernel(ChoiceStep step) {
  const ChoosingRow row = step.rows[blockIdx.y];
  const std::int64_t kv_head = blockIdx.x;
  const float* scores = step.scores + row.score + kv_head * row.old;
  const std::int32_t* seen = step.tables + row.seen_page;
  std::int32_t* read = step.tables + row.read_page + kv_head * (row.chosen + row.newest);
  const auto rank = [&](int i) { return RankOf(scores[i], i); };
  if (row.chosen > 0) {
    const Sum64 last =
        RankOfLast<kThreads>(MakeRankMemory<struct ChoiceMemory>(), row.old,
                             static_cast<Sum64>(row.chosen), rank, [](int) { return Sum64{1}; });
    for (int first = 0, done = 0; first < row.old; first += kThreads) {
      const int i = first + static_cast<int>(threadIdx.x);
      const bool is_chosen = i < row.old && rank(i) >= last;
      const InOrder order = CountInOrder<kThreads, struct ChosenMemory>(is_chosen);
      if (is_chosen) read[done + order.before] = seen[i];
      done += order.all;
    }
  }
  for (int i = threadIdx.x; i < row.newest; i += kThreads) read[row.chosen + i] = seen[row.old + i];
}

}  // namespace

void ChoosePages(Stream stream, const ChoiceStep& step, const BoundsView& bounds,
                 std::int32_t layer) {
  if (step.count == 0) return;
  const auto kv_heads = static_cast<unsigned>(bounds.kv_heads);
  const auto rows = static_cast<unsigned>(step.count);
  Require(rows <= 65535, "ChoosePages: more rows than a grid has");
  const auto blocks = static_cast<unsigned>((step.most_old + kPages - 1) / kPages);
  Launch(ScorePagesKernel, dim3(blocks, kv_heads, rows), kThreads, 0, stream, step, bounds, layer);
  Launch(ChoosePagesKernel, dim3(kv_heads, rows), kThreads, 0, stream, step);
}

}  // namespace banyan::kernels::cuda
