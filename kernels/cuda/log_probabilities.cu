// Log-probabilities of tokens of each row: a block has one.

#include "kernels/cuda/device.h"
#include "kernels/cuda/ranks.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/weights.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 512;

// Rounding must not make a certain token more than certain.
__device__ __forceinline__ float LogProbability(float logit, double log_sum) {
  return static_cast<float>(fmin(static_cast<double>(logit) - log_sum, 0.0));
}

__device__ __forceinline__ void WriteTop(const float* row, int vocabulary, double log_sum,
                                         const RankedTokens& top) {
  const auto rank = [&](int i) { return RankOf(row[i], i); };
  const Sum64 last =
      RankOfLast<kThreads>(MakeRankMemory<struct TopRanks>(), vocabulary,
                           static_cast<Sum64>(top.each), rank, [](int) -> Sum64 { return 1; });
  Shared<int> chosen = StaticShared<int, RankedTokens::kMost, struct TopChosen>();
  Shared<int> count = StaticShared<int, 1, struct TopCount>();
  if (threadIdx.x == 0) count[0] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < vocabulary; i += kThreads)
    if (rank(i) >= last) chosen[atomicAdd(count, 1)] = i;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= top.each) return;
  const int token = chosen[threadIdx.x];
  int place = 0;
  for (int i = 0; i < top.each; ++i) place += rank(chosen[i]) > rank(token) ? 1 : 0;
  const std::int64_t at = std::int64_t{blockIdx.x} * top.each + place;
  top.tokens[at] = token;
  top.log_probabilities[at] = LogProbability(row[token], log_sum);
}

__global__ void __launch_bounds__(kThreads)
    LogProbabilitiesKernel(const float* __restrict__ logits, int vocabulary,
                           const std::int32_t* __restrict__ tokens, float* __restrict__ of_tokens,
                           RankedTokens top) {
  const float* row = logits + std::int64_t{blockIdx.x} * vocabulary;
  float greatest = -INFINITY;
  for (int i = threadIdx.x; i < vocabulary; i += kThreads) greatest = fmaxf(greatest, row[i]);
  greatest = BlockGreatest<kThreads>(greatest);
  double sum = 0.0;
  for (int i = threadIdx.x; i < vocabulary; i += kThreads)
    sum += static_cast<double>(WeightOf(row[i], greatest, 1.0F));
  const double log_sum = static_cast<double>(greatest) + log(BlockSum<kThreads>(sum));
  if (threadIdx.x == 0) of_tokens[blockIdx.x] = LogProbability(row[tokens[blockIdx.x]], log_sum);
  if (top.each > 0) WriteTop(row, vocabulary, log_sum, top);
}

}  // namespace

void LogProbabilities(Stream stream, const float* logits, std::int32_t vocabulary,
                      const std::int32_t* tokens, std::int32_t count, float* of_tokens,
                      const RankedTokens& top) {
  if (count == 0) return;
  Require(0 <= top.each && top.each <= RankedTokens::kMost && top.each <= vocabulary,
          "up to kMost of the most probable tokens");
  Launch(LogProbabilitiesKernel, static_cast<unsigned>(count), kThreads, 0, stream, logits,
         vocabulary, tokens, of_tokens, top);
}

}  // namespace banyan::kernels::cuda
