// Log-probabilities of tokens of rows: a block has one.

#include "kernels/cuda/device.h"
#include "kernels/cuda/ranks.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/weights.cuh"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 512;

struct ScoreArguments {
  const float* logits;
  const ScoreRow* scores;
  const std::int32_t* drawn;
  ScoreOutput out;
  int vocabulary;
};

// Rounding must not make a certain token more than certain.
__device__ __forceinline__ float LogProbability(float logit, double log_sum) {
  return static_cast<float>(fmin(static_cast<double>(logit) - log_sum, 0.0));
}

__device__ __forceinline__ void WriteTop(const float* row, int vocabulary, double log_sum,
                                         int count, const ScoreOutput& out) {
  const auto rank = [&](int i) { return RankOf(row[i], i); };
  const Sum64 last =
      RankOfLast<kThreads>(MakeRankMemory<struct TopRanks>(), vocabulary, static_cast<Sum64>(count),
                           rank, [](int) -> Sum64 { return 1; });
  Shared<int> chosen = StaticShared<int, ScoreRow::kMostTop, struct TopChosen>();
  Shared<int> found = StaticShared<int, 1, struct TopFound>();
  if (threadIdx.x == 0) found[0] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < vocabulary; i += kThreads)
    if (rank(i) >= last) chosen[atomicAdd(found, 1)] = i;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= count) return;
  const int token = chosen[threadIdx.x];
  int place = 0;
  for (int i = 0; i < count; ++i) place += rank(chosen[i]) > rank(token) ? 1 : 0;
  const std::int64_t at = std::int64_t{blockIdx.x} * ScoreRow::kMostTop + place;
  out.top_tokens[at] = token;
  out.top_log_probabilities[at] = LogProbability(row[token], log_sum);
}

__global__ void __launch_bounds__(kThreads) LogProbabilitiesKernel(ScoreArguments a) {
  const ScoreRow score = a.scores[blockIdx.x];
  const float* row = a.logits + std::int64_t{score.row} * a.vocabulary;
  const int token = score.token >= 0 ? score.token : a.drawn[~score.token];
  float greatest = -INFINITY;
  bool finite = true;
  for (int i = threadIdx.x; i < a.vocabulary; i += kThreads) {
    finite = finite && fabsf(row[i]) < INFINITY;
    greatest = fmaxf(greatest, row[i]);
  }
  if (__syncthreads_or(finite ? 0 : 1) != 0 || token < 0) {
    if (threadIdx.x == 0) a.out.log_probabilities[blockIdx.x] = INFINITY;
    return;
  }
  greatest = BlockGreatest<kThreads>(greatest);
  double sum = 0.0;
  for (int i = threadIdx.x; i < a.vocabulary; i += kThreads)
    sum += static_cast<double>(WeightOf(row[i], greatest, 1.0F));
  const double log_sum = static_cast<double>(greatest) + log(BlockSum<kThreads>(sum));
  if (threadIdx.x == 0) a.out.log_probabilities[blockIdx.x] = LogProbability(row[token], log_sum);
  if (score.top > 0) WriteTop(row, a.vocabulary, log_sum, score.top, a.out);
}

}  // namespace

void LogProbabilities(Stream stream, const LogitRows& logits, const ScoreRow* scores,
                      std::int32_t count, const std::int32_t* drawn, const ScoreOutput& out) {
  if (count == 0) return;
  Launch(LogProbabilitiesKernel, static_cast<unsigned>(count), kThreads, 0, stream,
         ScoreArguments{logits.data, scores, drawn, out, logits.vocabulary});
}

}  // namespace banyan::kernels::cuda
