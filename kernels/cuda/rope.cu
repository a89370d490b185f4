// Rotary position embedding, and keys and values into their pages.

#include "kernels/cuda/device.h"
#include "kernels/cuda/hadamard.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_numbers.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;

__global__ void RopeAnglesKernel(const std::int32_t* __restrict__ positions,
                                 const double* __restrict__ frequencies, int pairs,
                                 float2* __restrict__ angles) {
  const double position = positions[blockIdx.x];
  for (int pair = threadIdx.x; pair < pairs; pair += kThreads) {
    const double angle = position * frequencies[pair];
    angles[std::int64_t{blockIdx.x} * pairs + pair] =
        make_float2(static_cast<float>(cos(angle)), static_cast<float>(sin(angle)));
  }
}

// By a warp, whose lanes have pairs of their own.
template <RopePairs kPairs>
__device__ __forceinline__ void Turn(const float2* angles, int dims, float* head) {
  const int pairs = dims / 2;
  for (int pair = threadIdx.x % kWarp; pair < pairs; pair += kWarp) {
    float* first = kPairs == RopePairs::kNeighbours ? head + 2 * pair : head + pair;
    float* second = kPairs == RopePairs::kNeighbours ? first + 1 : first + pairs;
    const float2 angle = angles[pair];
    const float a = *first;
    const float b = *second;
    *first = fmaf(a, angle.x, -(b * angle.y));
    *second = fmaf(b, angle.x, a * angle.y);
  }
}

// A block has a row, a warp every fourth of its heads: queries, then keys with their values.
template <KvFormat kFormat, RopePairs kPairs>
__global__ void RopeAndStoreKernel(RopeStep step, KvPages kv, int layer) {
  const std::int64_t row = blockIdx.x;
  // A token of pages that are sealed goes to one in f16.
  constexpr KvFormat kStored = SealsPages(kFormat) ? KvFormat::kF16 : kFormat;
  const PageView& pages = SealsPages(kFormat) ? kv.open.open : kv.pages;
  const int head_dim = pages.head_dim;
  const auto* angles = reinterpret_cast<const float2*>(step.angles) + row * (step.dims / 2);
  const TokenPlace place = step.places[row];
  std::byte* page = SealsPages(kFormat) ? kv.open.LayerOf(place.page, layer)
                                        : pages.memory + pages.KeyAt(place.page, layer, 0, 0);
  const int all = step.heads + pages.kv_heads;
  for (int head = threadIdx.x / kWarp; head < all; head += kWarps) {
    const bool is_query = head < step.heads;
    const int kv_head = head - step.heads;
    const std::int64_t at = (row * pages.kv_heads + kv_head) * head_dim;
    float* turned = is_query ? step.q + (row * step.heads + head) * head_dim : step.k + at;
    Turn<kPairs>(angles, step.dims, turned);
    if (is_query && !SpreadsKeys(kFormat)) continue;
    __syncwarp();  // lanes now read what others turned
    if constexpr (SpreadsKeys(kFormat)) SpreadHead(turned, head_dim, turned);
    if (is_query) continue;
    StoreKeyAndValue<kStored>(
        turned, step.v + at, pages, page + pages.KeyAt(0, 0, kv_head, place.slot),
        reinterpret_cast<Half*>(page + pages.ScaleAt(0, 0, kv_head, place.slot)));
  }
}

// A block has a row, a warp every fourth of its queries.
template <bool kSpreads, RopePairs kPairs>
__global__ void TurnForSinksKernel(SinkStep step, float* __restrict__ out) {
  const std::int64_t row = step.rows[blockIdx.x];
  const int head_dim = step.head_dim;
  const auto* angles =
      reinterpret_cast<const float2*>(step.angles) + std::int64_t{blockIdx.x} * (step.dims / 2);
  for (int head = threadIdx.x / kWarp; head < step.heads; head += kWarps) {
    const std::int64_t at = (row * step.heads + head) * head_dim;
    if constexpr (kSpreads) {
      SpreadHead(step.q + at, head_dim, out + at);  // back
    } else {
      for (int i = threadIdx.x % kWarp; i < head_dim; i += kWarp) out[at + i] = step.q[at + i];
    }
    __syncwarp();
    Turn<kPairs>(angles, step.dims, out + at);
    if constexpr (kSpreads) {
      __syncwarp();
      SpreadHead(out + at, head_dim, out + at);
    }
  }
}

template <KvFormat kFormat>
void LaunchRope(Stream stream, const RopeStep& step, const KvPages& kv, std::int32_t layer) {
  const auto kernel = step.pairs == RopePairs::kNeighbours
                          ? RopeAndStoreKernel<kFormat, RopePairs::kNeighbours>
                          : RopeAndStoreKernel<kFormat, RopePairs::kHalves>;
  Launch(kernel, static_cast<unsigned>(step.rows), kThreads, 0, stream, step, kv, layer);
}

}  // namespace

void RopeAngles(Stream stream, const std::int32_t* positions, const double* frequencies,
                std::int32_t rows, std::int32_t pairs, float* angles) {
  if (rows == 0 || pairs == 0) return;
  Launch(RopeAnglesKernel, static_cast<unsigned>(rows), kThreads, 0, stream, positions, frequencies,
         pairs, reinterpret_cast<float2*>(angles));
}

void RopeAndStore(Stream stream, const RopeStep& step, const KvPages& kv, std::int32_t layer) {
  if (step.rows == 0) return;
  const std::int32_t head_dim = kv.pages.head_dim;
  Require(step.dims % 2 == 0 && step.dims <= head_dim, "rope turns whole pairs of a head");
  Require(!SpreadsKeys(kv.pages.format) || head_dim <= kMaxHeadDim, "a warp holds a head");
  switch (kv.pages.format) {
    case KvFormat::kF16:
      return LaunchRope<KvFormat::kF16>(stream, step, kv, layer);
    case KvFormat::kBf16:
      return LaunchRope<KvFormat::kBf16>(stream, step, kv, layer);
    case KvFormat::kFp8:
      return LaunchRope<KvFormat::kFp8>(stream, step, kv, layer);
    case KvFormat::kInt8:
      return LaunchRope<KvFormat::kInt8>(stream, step, kv, layer);
    case KvFormat::kInt4:
      return LaunchRope<KvFormat::kInt4>(stream, step, kv, layer);
  }
  RequireFailed("a format of pages that is none");
}

void TurnForSinks(Stream stream, const SinkStep& step, float* out) {
  if (step.count == 0) return;
  Require(step.dims % 2 == 0 && step.dims <= step.head_dim, "rope turns whole pairs of a head");
  const bool spreads = SpreadsKeys(step.format);
  Require(!spreads || step.head_dim <= kMaxHeadDim, "a warp holds a head");
  constexpr RopePairs kNeighbours = RopePairs::kNeighbours;
  constexpr RopePairs kHalves = RopePairs::kHalves;
  const auto kernel =
      step.pairs == kNeighbours
          ? (spreads ? TurnForSinksKernel<true, kNeighbours>
                     : TurnForSinksKernel<false, kNeighbours>)
          : (spreads ? TurnForSinksKernel<true, kHalves> : TurnForSinksKernel<false, kHalves>);
  Launch(kernel, static_cast<unsigned>(step.count), kThreads, 0, stream, step, out);
}

}  // namespace banyan::kernels::cuda
