// Matrix products with weights that are floats: F32, F16, BF16.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/matmul_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

struct F32 {
  static constexpr int kBytes = 4;
  static __m256 Eight(const std::byte* at) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
  }
};

struct F16 {
  static constexpr int kBytes = 2;
  static __m256 Eight(const std::byte* at) { return LoadHalves(at); }
};

// The upper half of a float.
struct BF16 {
  static constexpr int kBytes = 2;
  static __m256 Eight(const std::byte* at) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
};

template <class Type>
struct Floats {
  static constexpr int kTileBytes = kTileRows * Type::kBytes;
  static constexpr int kInputBytes = sizeof(float);
  static constexpr int kMaxRows = 6;
  static constexpr bool kInOrder = true;

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row, Ahead& ahead,
                  Sums<kRows>& sums) {
    const float* x = work.floats + row * work.float_stride;
    for (std::int64_t k = 0; k < work.depth;) {
      FetchAhead<Floats, kRows, kUnit * kTileBytes>(ahead);
      const std::int64_t end = work.depth - k < kUnit ? work.depth : k + kUnit;
      for (; k < end; ++k, ++x, tile += kTileBytes) {
        __m256 w[kHalves];
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h) w[h] = Type::Eight(tile + h * kTileBytes / kHalves);
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) {
          const __m256 value = _mm256_broadcast_ss(x + r * work.float_stride);
#pragma GCC unroll 2
          for (int h = 0; h < kHalves; ++h) sums[h][r] = _mm256_fmadd_ps(w[h], value, sums[h][r]);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kUnit = 16;  // columns from one look ahead to the next
};

}  // namespace

void MatMulF32(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<F32>>(work, first, last);
}

void MatMulF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<F16>>(work, first, last);
}

void MatMulBF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<BF16>>(work, first, last);
}

}  // namespace banyan::kernels::avx2
