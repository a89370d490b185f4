// The kernels as the host calls them: every pointer is to the device's memory, every call returns
// at once and is done in the order of its stream. Matrices are row-major and without gaps.
//
// Sums have one order, which depends on the length of a row and the positions of keys alone: a
// row's result is the same bits in any batch.
#pragma once

#include <cstdint>

#include "kernels/cuda/numbers.h"
#include "kernels/cuda/pages.h"
#include "kernels/cuda/runtime.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

// A vector or matrix of Half, Bf16 or floats.
struct Numbers {
  const void* data = nullptr;
  NumberType type = NumberType::kF32;
};
struct Output {
  void* data = nullptr;
  NumberType type = NumberType::kF32;
};

// Of pages: a warp holds a head of so many dimensions. A multiple of 8.
inline constexpr std::int32_t kMaxHeadDim = 256;
inline constexpr std::int32_t kMaxGroup = 64;  // of Attend: query heads of one KV head

// x[i] = factor * row ids[i] of the table; x is [rows, cols].
void Embed(Stream stream, Numbers table, std::int64_t cols, const std::int32_t* ids,
           std::int32_t rows, float factor, float* x);

// out[i] = x[r] / sqrt(mean(x[r]^2) + eps) * weight, r = chosen[i], or i where chosen is null.
// Zhang & Sennrich, "Root mean square layer normalization", 2019.
void RmsNorm(Stream stream, const float* x, const std::int32_t* chosen, const float* weight,
             float eps, std::int32_t rows, std::int32_t cols, Output out);
// x[i] += in[i] / sqrt(mean(in[i]^2) + eps) * weight.
void RmsNormAdd(Stream stream, const float* in, const float* weight, float eps, std::int32_t rows,
                std::int32_t cols, float* x);
// In place: each of `heads` runs of head_dim values normalized as by RmsNorm.
void RmsNormHeads(Stream stream, const float* weight, float eps, std::int64_t heads,
                  std::int32_t head_dim, float* x);

// out[i] = function(gate[i]) * up[i], `count` of them.
void Gate(Stream stream, GateFunction function, const float* gate, const float* up,
          std::int64_t count, Output out);

// A row's cosine and sine for every pair, [rows, pairs][2]: of the angle position * frequency,
// which is computed in double.
void RopeAngles(Stream stream, const std::int32_t* positions, const double* frequencies,
                std::int32_t rows, std::int32_t pairs, float* angles);

// Where a token's keys and values go: a page and the slot in it. Where pages are sealed it is one
// in f16, numbered as OpenView does.
struct TokenPlace {
  std::int32_t page = 0;
  std::int32_t slot = 0;
};

struct RopeStep {
  float* q = nullptr;  // [rows, heads * head_dim], turned in place
  float* k = nullptr;  // [rows, kv_heads * head_dim], likewise
  const float* v = nullptr;
  std::int32_t rows = 0;
  std::int32_t heads = 0;
  const float* angles = nullptr;  // of RopeAngles
  std::int32_t dims = 0;          // the first of a head, which are turned; 0: none
  RopePairs pairs = RopePairs::kNeighbours;
  const TokenPlace* places = nullptr;  // [rows]
};
// Turns q and k, puts both into the basis that the pages keep keys in (SpreadsKeys), and rounds k
// and v into their slots.
void RopeAndStore(Stream stream, const RopeStep& step, const KvPages& kv, std::int32_t layer);

// From a page to another; those in f16 are numbered as OpenView does.
struct PagePair {
  std::int32_t from = 0;
  std::int32_t to = 0;
};
// One layer of pages in f16 that are full, sealed.
void SealPages(Stream stream, const PagePair* full, std::int32_t count, const KvPages& kv,
               std::int32_t layer);
// One layer of open pages, copied to staged ones.
void StagePages(Stream stream, const PagePair* begun, std::int32_t count, const OpenView& open,
                std::int32_t layer);

// The first slots of a page to another page, in all layers: for copy-on-write. No page is both read
// and written, or written twice.
void CopySlots(Stream stream, const SlotCopy* copies, std::int32_t count, const PageView& pages);

// Of a step, the queries that see attention sinks at a distance (kernels/key_window.h).
struct SinkStep {
  const float* q = nullptr;  // [rows of the step, heads * head_dim], as RopeAndStore leaves them
  std::int32_t heads = 0;
  std::int32_t head_dim = 0;
  KvFormat format = KvFormat::kF16;    // of the pages
  const std::int32_t* rows = nullptr;  // those that do, `count` of them
  std::int32_t count = 0;
  const float* angles = nullptr;  // [count], of how far each is to be turned
  std::int32_t dims = 0;          // as RopeStep has it
  RopePairs pairs = RopePairs::kNeighbours;
};
// out[r] = q[r], turned by its angles, of those rows; others are left.
void TurnForSinks(Stream stream, const SinkStep& step, float* out);

}  // namespace banyan::kernels::cuda
