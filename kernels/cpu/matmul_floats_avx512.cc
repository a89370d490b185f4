// Matrix products with weights that are floats: F32, F16, BF16.

#include <immintrin.h>

#include "kernels/cpu/avx512.h"
#include "kernels/cpu/matmul_avx512.h"

namespace banyan::kernels::avx512 {
namespace {

struct F32 {
  static constexpr int kBytes = 4;
  static __m512 Sixteen(const std::byte* at) { return _mm512_loadu_ps(at); }
};

struct F16 {
  static constexpr int kBytes = 2;
  static __m512 Sixteen(const std::byte* at) { return LoadHalves(at); }
};

// The upper half of a float.
struct BF16 {
  static constexpr int kBytes = 2;
  static __m512 Sixteen(const std::byte* at) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};

template <class Type>
struct Floats {
  static constexpr int kTileBytes = kTileRows * Type::kBytes;
  static constexpr int kInputBytes = sizeof(float);
  static constexpr int kMaxRows = kRegisterRows;
  static constexpr bool kInOrder = true;

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row, Ahead& ahead,
                  Sums<kRows>& sums) {
    const float* x = work.floats + row * work.float_stride;
    for (std::int64_t k = 0; k < work.depth;) {
      FetchAhead<Floats, kRows, kUnit * kTileBytes>(ahead);
      const std::int64_t end = work.depth - k < kUnit ? work.depth : k + kUnit;
      for (; k < end; ++k, ++x, tile += kTileBytes) {
        const __m512 w = Type::Sixteen(tile);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r)
          sums[r] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[r * work.float_stride]), sums[r]);
      }
    }
  }

 private:
  static constexpr std::int64_t kUnit = 16;  // columns from one look ahead to the next
};

// As a sum waits four cycles for the one before, several tiles also keep the core busy.
constexpr int kFewRows = 3;

template <class Type, int kRows>
[[gnu::noinline]] void FourTiles(const MatMulWork& work, std::int64_t tile) {
  const std::int64_t tile_bytes = work.depth * Floats<Type>::kTileBytes;
  const std::byte* weights = work.tiles + tile * tile_bytes;
  Sums<kRows> sums[kTilesAtOnce];
#pragma GCC unroll 4
  for (int t = 0; t < kTilesAtOnce; ++t)
#pragma GCC unroll 3
    for (int r = 0; r < kRows; ++r) sums[t][r] = _mm512_setzero_ps();
  const float* x = work.floats;
  for (std::int64_t k = 0; k < work.depth; ++k, ++x, weights += Floats<Type>::kTileBytes) {
#pragma GCC unroll 4
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const __m512 w = Type::Sixteen(weights + t * tile_bytes);
#pragma GCC unroll 3
      for (int r = 0; r < kRows; ++r)
        sums[t][r] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[r * work.float_stride]), sums[t][r]);
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTilesAtOnce; ++t)
#pragma GCC unroll 3
    for (int r = 0; r < kRows; ++r) Write(work, tile + t, r, sums[t][r]);
}

template <class Type>
void FloatProduct(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  static constexpr void (*kFourTiles[])(const MatMulWork&, std::int64_t) = {
      FourTiles<Type, 1>, FourTiles<Type, 2>, FourTiles<Type, kFewRows>};
  const bool few = 1 <= work.rows && work.rows <= kFewRows;
  if (few && work.depth * Floats<Type>::kTileBytes >= kLongTileBytes)
    for (; first + kTilesAtOnce <= last; first += kTilesAtOnce)
      kFourTiles[work.rows - 1](work, first);
  Product<Floats<Type>>(work, first, last);
}

}  // namespace

void MatMulF32(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  FloatProduct<F32>(work, first, last);
}

void MatMulF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  FloatProduct<F16>(work, first, last);
}

void MatMulBF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  FloatProduct<BF16>(work, first, last);
}

}  // namespace banyan::kernels::avx512
