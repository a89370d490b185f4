// Rotary position embedding, and keys and values into their pages.

#include "kernels/cuda/device.h"
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

// A block has a row, a warp every fourth of its heads: queries, then keys, then values.
template <KvFormat kFormat, RopePairs kPairs>
__global__ void RopeAndStoreKernel(RopeStep step, PageView pages, int layer) {
  const std::int64_t row = blockIdx.x;
  const int head_dim = pages.head_dim;
  const auto* angles = reinterpret_cast<const float2*>(step.angles) + row * (step.dims / 2);
  const std::int64_t slot = step.slots[row];
  const auto page = static_cast<std::int32_t>(slot / pages.page_size);
  const auto within = static_cast<std::int32_t>(slot % pages.page_size);
  const int all = step.heads + 2 * pages.kv_heads;
  for (int head = threadIdx.x / kWarp; head < all; head += kWarps) {
    if (head < step.heads) {
      Turn<kPairs>(angles, step.dims, step.q + (row * step.heads + head) * head_dim);
      continue;
    }
    const bool is_key = head < step.heads + pages.kv_heads;
    const int kv_head = is_key ? head - step.heads : head - step.heads - pages.kv_heads;
    const std::int64_t at = (row * pages.kv_heads + kv_head) * head_dim;
    if (is_key) {
      Turn<kPairs>(angles, step.dims, step.k + at);
      __syncwarp();  // lanes now read what others turned
    }
    StoreHead<kFormat>(
        (is_key ? step.k : step.v) + at, head_dim,
        pages.memory + pages.KeyAt(page, layer, kv_head, within) +
            (is_key ? 0 : pages.values_after()),
        reinterpret_cast<Half*>(pages.memory + pages.ScaleAt(page, layer, kv_head, within)) +
            (is_key ? 0 : pages.page_size));
  }
}

template <KvFormat kFormat>
void LaunchRope(Stream stream, const RopeStep& step, const PageView& pages, std::int32_t layer) {
  const auto kernel = step.pairs == RopePairs::kNeighbours
                          ? RopeAndStoreKernel<kFormat, RopePairs::kNeighbours>
                          : RopeAndStoreKernel<kFormat, RopePairs::kHalves>;
  Launch(kernel, static_cast<unsigned>(step.rows), kThreads, 0, stream, step, pages, layer);
}

}  // namespace

void RopeAngles(Stream stream, const std::int32_t* positions, const double* frequencies,
                std::int32_t rows, std::int32_t pairs, float* angles) {
  if (rows == 0 || pairs == 0) return;
  Launch(RopeAnglesKernel, static_cast<unsigned>(rows), kThreads, 0, stream, positions, frequencies,
         pairs, reinterpret_cast<float2*>(angles));
}

void RopeAndStore(Stream stream, const RopeStep& step, const PageView& pages, std::int32_t layer) {
  if (step.rows == 0) return;
  Require(step.dims % 2 == 0 && step.dims <= pages.head_dim, "rope turns whole pairs of a head");
  switch (pages.format) {
    case KvFormat::kF16:
      return LaunchRope<KvFormat::kF16>(stream, step, pages, layer);
    case KvFormat::kBf16:
      return LaunchRope<KvFormat::kBf16>(stream, step, pages, layer);
    case KvFormat::kFp8:
      return LaunchRope<KvFormat::kFp8>(stream, step, pages, layer);
    case KvFormat::kInt8:
      return LaunchRope<KvFormat::kInt8>(stream, step, pages, layer);
    case KvFormat::kInt4:
      break;
  }
  RequireFailed("a format of pages outside kPageFormats");
}

}  // namespace banyan::kernels::cuda
