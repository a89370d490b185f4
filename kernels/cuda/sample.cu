// A token drawn from each row: a block has one.

#include "kernels/cuda/best.cuh"
#include "kernels/cuda/device.h"
#include "kernels/cuda/ranks.cuh"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/weights.cuh"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;
constexpr float kGreatestFloat = 3.402823466e+38F;

struct SampleArguments {
  const float* logits;
  const SampleRow* draws;
  SampleLists lists;
  float* adjusted;
  std::int32_t* tokens;
  int vocabulary;
};

// Whether it is drawn from the logits as they are.
__device__ __forceinline__ bool IsPlain(const SampleRow& row) {
  return row.mask == SampleRow::kNoMask && row.forbidden.count == 0 && row.biases.count == 0 &&
         row.uses.count == 0;
}

// A finite logit stays one.
__device__ __forceinline__ float Finite(float logit) {
  return fminf(fmaxf(logit, -kGreatestFloat), kGreatestFloat);
}

// Keskar et al., "CTRL", 2019, made to push down whatever the logit's sign; then what OpenAI calls
// frequency and presence penalty.
__device__ __forceinline__ float Penalized(float logit, const SampleRow& row, int in_answer) {
  logit = Finite(logit > 0.0F ? logit / row.repetition : logit * row.repetition);
  if (in_answer > 0) {
    logit -= row.frequency * static_cast<float>(in_answer);
    logit -= row.presence;
  }
  return Finite(logit);
}

// Writes the row's logits as they are to be drawn from; whether those given are finite, as far as
// the thread has read them. Threads see what others wrote.
__device__ __forceinline__ bool Adjust(const SampleArguments& a, const SampleRow& row,
                                       const float* logits, float* adjusted) {
  const std::int64_t words = (a.vocabulary + 63) / 64;
  const std::uint64_t* mask =
      row.mask == SampleRow::kNoMask ? nullptr : a.lists.masks + row.mask * words;
  const std::int32_t* forbidden = a.lists.forbidden + row.forbidden.first;
  bool finite = true;
  for (int i = threadIdx.x; i < a.vocabulary; i += kThreads) {
    const float logit = logits[i];
    finite = finite && fabsf(logit) < INFINITY;
    bool allowed = mask == nullptr || (mask[i / 64] >> i % 64 & 1) != 0;
    for (int n = 0; n < row.forbidden.count; ++n) allowed = allowed && forbidden[n] != i;
    adjusted[i] = allowed ? logit : -INFINITY;
  }
  __syncthreads();
  const TokenBias* biases = a.lists.biases + row.biases.first;
  for (int i = threadIdx.x; i < row.biases.count; i += kThreads) {
    float& logit = adjusted[biases[i].token];
    if (logit != -INFINITY) logit = Finite(logit + biases[i].bias);
  }
  __syncthreads();
  const TokenUse* uses = a.lists.uses + row.uses.first;
  for (int i = threadIdx.x; i < row.uses.count; i += kThreads) {
    float& logit = adjusted[uses[i].token];
    if (logit != -INFINITY) logit = Penalized(logit, row, uses[i].in_answer);
  }
  __syncthreads();
  return finite;
}

// What is left of a row, and what it weighs.
struct Left {
  const float* logits;
  float greatest;
  float temperature;
  float min_p;
  Sum64 last = 0;  // the rank of the last token

  __device__ Sum64 Rank(int i) const { return RankOf(logits[i], i); }
  __device__ float Weight(int i) const {
    const float weight = WeightOf(logits[i], greatest, temperature);
    return weight < min_p || Rank(i) < last ? 0.0F : weight;
  }
  // In multiples of 2^-44: those of 2^19 tokens have a sum.
  __device__ Sum64 Share(int i) const { return static_cast<Sum64>(Weight(i) * 0x1p44F); }
};

// Tokens by their ids: a warp has a run of them.
struct Segment {
  int begin;
  int end;

  __device__ static Segment Of(int warp, int vocabulary) {
    const int each = (vocabulary + kWarps - 1) / kWarps;
    const int begin = warp * each < vocabulary ? warp * each : vocabulary;
    return {begin, begin + each < vocabulary ? begin + each : vocabulary};
  }
};

// sums[warp] = what its tokens weigh; all threads get the sum of all.
__device__ __forceinline__ Sum64 SumShares(const Left& left, int vocabulary, Shared<Sum64> sums) {
  const int warp = threadIdx.x / kWarp;
  const Segment own = Segment::Of(warp, vocabulary);
  Sum64 sum = 0;
  for (int i = own.begin + threadIdx.x % kWarp; i < own.end; i += kWarp) sum += left.Share(i);
  sum = WarpSum(sum);
  if (threadIdx.x % kWarp == 0) sums[warp] = sum;
  __syncthreads();
  Sum64 all = 0;
  for (int w = 0; w < kWarps; ++w) all += sums[w];
  return all;
}

// The token in whose share the point lies, of shares in the order of ids; by one warp, to whose
// tokens it belongs.
__device__ __forceinline__ void WriteTokenAt(const Left& left, const Segment& own, Sum64 point,
                                             std::int32_t* token) {
  for (int base = own.begin; base < own.end; base += kWarp) {
    const int i = base + static_cast<int>(threadIdx.x % kWarp);
    const Sum64 share = i < own.end ? left.Share(i) : 0;
    const Sum64 up_to = WarpSumUpTo(share);
    if (up_to - share <= point && point < up_to) *token = i;
    const Sum64 all = __shfl_sync(kAllLanes, up_to, kWarp - 1);
    if (point < all) return;
    point -= all;
  }
}

__device__ __forceinline__ void Draw(const Left& left, const SampleRow& row, int vocabulary,
                                     Shared<Sum64> sums, std::int32_t* token) {
  const Sum64 all = SumShares(left, vocabulary, sums);
  Sum64 point = static_cast<Sum64>(row.uniform * static_cast<double>(all));
  point = point < all ? point : all - 1;  // rounding may go a little beyond
  int warp = 0;
  for (; point >= sums[warp]; ++warp) point -= sums[warp];
  if (static_cast<int>(threadIdx.x) / kWarp == warp)
    WriteTokenAt(left, Segment::Of(warp, vocabulary), point, token);
}

// Fan, Lewis, Dauphin, "Hierarchical Neural Story Generation", 2018.
__device__ __forceinline__ void KeepTopK(const RankMemory& memory, int vocabulary, int top_k,
                                         Left& left, Shared<int> counted) {
  int count = 0;
  for (int i = threadIdx.x; i < vocabulary; i += kThreads) count += left.Weight(i) > 0.0F ? 1 : 0;
  if (threadIdx.x == 0) counted[0] = 0;
  __syncthreads();
  if (count > 0) atomicAdd(counted, count);
  __syncthreads();
  if (counted[0] <= top_k) return;
  const Left before = left;
  left.last = RankOfLast<kThreads>(
      memory, vocabulary, static_cast<Sum64>(top_k), [&](int i) { return before.Rank(i); },
      [&](int i) -> Sum64 { return before.Weight(i) > 0.0F ? 1 : 0; });
}

// Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020.
__device__ __forceinline__ void KeepTopP(const RankMemory& memory, int vocabulary, float top_p,
                                         Left& left, Shared<Sum64> sums) {
  const Left before = left;
  const Sum64 all = SumShares(before, vocabulary, sums);
  Sum64 wanted = static_cast<Sum64>(ceil(static_cast<double>(top_p) * static_cast<double>(all)));
  wanted = wanted < 1 ? 1 : wanted < all ? wanted : all;
  left.last = RankOfLast<kThreads>(
      memory, vocabulary, wanted, [&](int i) { return before.Rank(i); },
      [&](int i) { return before.Share(i); });
}

__global__ void __launch_bounds__(kThreads) SampleKernel(SampleArguments a) {
  const SampleRow row = a.draws[blockIdx.x];
  const float* logits = a.logits + std::int64_t{row.row} * a.vocabulary;
  std::int32_t* token = a.tokens + blockIdx.x;
  RowBest best;
  if (IsPlain(row)) {
    for (int i = threadIdx.x; i < a.vocabulary; i += kThreads) best.Take(logits[i], i);
  } else {
    float* adjusted = a.adjusted + std::int64_t{blockIdx.x} * a.vocabulary;
    const bool finite = Adjust(a, row, logits, adjusted);
    for (int i = threadIdx.x; i < a.vocabulary; i += kThreads) best.Take(adjusted[i], i);
    best.finite = finite;  // masked ones may be infinite
    logits = adjusted;
  }
  best = BlockBest<kThreads>(best);
  const bool allowed = best.best.value > -INFINITY;
  if (!best.finite || !allowed || row.temperature == 0.0F) {
    if (threadIdx.x == 0)
      *token = !best.finite ? kNotFinite : !allowed ? kNoneAllowed : best.best.index;
    return;
  }
  Left left{logits, best.best.value, row.temperature, row.min_p};
  Shared<Sum64> sums = StaticShared<Sum64, kWarps, struct SampleSums>();
  const RankMemory memory = MakeRankMemory<struct SampleRanks>();
  if (row.top_k > 0)
    KeepTopK(memory, a.vocabulary, row.top_k, left, StaticShared<int, 1, struct SampleCount>());
  if (row.top_p < 1.0F) KeepTopP(memory, a.vocabulary, row.top_p, left, sums);
  Draw(left, row, a.vocabulary, sums, token);
}

}  // namespace

void Sample(Stream stream, const LogitRows& logits, const SampleRow* draws, std::int32_t count,
            const SampleLists& lists, float* adjusted, std::int32_t* tokens) {
  if (count == 0) return;
  Launch(SampleKernel, static_cast<unsigned>(count), kThreads, 0, stream,
         SampleArguments{logits.data, draws, lists, adjusted, tokens, logits.vocabulary});
}

}  // namespace banyan::kernels::cuda
