// Matrix products. Lane r of an accumulator belongs to row r of a tile and sums over the columns
// in increasing order, one fused multiply-add at a time, whatever the number of input rows: a
// register tile of four input rows does to each of them exactly what a tile of one does.
//
// Quantized types: the integer part of a block of 32 columns is exact, so its order is free; then
//   sum = fma(d * scale, integer, sum), and for Q4_1 sum = fma(m, scale * (q[0] + .. + q[31]), sum)
// with the block's d and m and the input block's scale and sum.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"

namespace banyan::kernels::avx2 {
namespace {

constexpr int kMaxRows = 4;  // input rows of one register tile
// Input rows are walked in groups of about this many bytes, which stay in the second-level cache
// while the tiles of weights pass by.
constexpr std::int64_t kGroupBytes = 384 << 10;
// How far ahead of use weights are asked for; matters across the 4 KiB borders that stop the
// machine's own prefetching.
constexpr int kPrefetchBytes = 1280;

__m256i Broadcast4(const std::int8_t* q) {
  int four;
  __builtin_memcpy(&four, q, sizeof four);
  return _mm256_set1_epi32(four);
}

__m256 LoadHalves(const std::byte* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

__m256i Load(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// Keeps compilers from regrouping a chain of integer sums into a tree that does not fit the
// registers.
void Pin(__m256i& value) { __asm__("" : "+x"(value)); }

template <int kBytes>
void PrefetchTile(const std::byte* at) {
#pragma GCC unroll 8
  for (int line = 0; line < kBytes; line += 64)
    _mm_prefetch(at + kPrefetchBytes + line, _MM_HINT_T0);
}

// A register tile: kTiles tiles of weights times kRows input rows. Loops over its registers are all
// unrolled: a single one that is not would keep the tile in memory. Each format's Dot adds to
// sums[t][r] the products of tile t and row `row` + r.
template <int kTiles, int kRows>
using Sums = __m256[kTiles][kRows];

struct Q4_1 {
  static constexpr int kTileBytes = kTileBytesQ4_1;
  static constexpr int kTilesAtOnce = 2;
  static constexpr int kInputBytes = sizeof(QuantBlock);

  // Eight products of nibbles (0..15) and int8 (-127..127), each a pair, fit 16 bits when summed:
  // |sum| <= 8 * 2 * 15 * 127 = 30480 <= 32767.
  template <int kTiles, int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kTiles, kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    const std::int64_t tile_stride = work.depth * kTileBytes;
    const __m256i low = _mm256_set1_epi8(15);
    for (std::int64_t b = 0; b < work.depth; ++b, ++x, tile += kTileBytes) {
      __m256i integers[kTiles][kRows];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        __m256i pairs[kTiles];
        __m256i w[kTiles];
#pragma GCC unroll 2
        for (int t = 0; t < kTiles; ++t) {
          pairs[t] = Load(tile + t * tile_stride + 32 * j);
          w[t] = _mm256_and_si256(pairs[t], low);
        }
        AddProducts<kTiles, kRows>(w, x, work.quant_stride, 4 * j, j == 0, integers);
#pragma GCC unroll 2
        for (int t = 0; t < kTiles; ++t)
          w[t] = _mm256_and_si256(_mm256_srli_epi16(pairs[t], 4), low);
        AddProducts<kTiles, kRows>(w, x, work.quant_stride, 16 + 4 * j, false, integers);
      }
      const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) {
        const std::byte* at = tile + t * tile_stride;
        PrefetchTile<kTileBytes>(at);
        const __m256 d = LoadHalves(at + 128);
        const __m256 m = LoadHalves(at + 144);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const QuantBlock& block = x[r * work.quant_stride];
          const __m256 scale = _mm256_mul_ps(d, _mm256_broadcast_ss(&block.scale));
          const __m256 integer = _mm256_cvtepi32_ps(_mm256_madd_epi16(integers[t][r], ones));
          sums[t][r] = _mm256_fmadd_ps(scale, integer, sums[t][r]);
          sums[t][r] = _mm256_fmadd_ps(m, _mm256_broadcast_ss(&block.sum), sums[t][r]);
        }
      }
    }
  }

  template <int kTiles, int kRows>
  static void AddProducts(const __m256i (&w)[kTiles], const QuantBlock* x, std::int64_t stride,
                          int column, bool first, __m256i (&integers)[kTiles][kRows]) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m256i four = Broadcast4(x[r * stride].q + column);
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) {
        const __m256i product = _mm256_maddubs_epi16(w[t], four);
        integers[t][r] = first ? product : _mm256_add_epi16(integers[t][r], product);
        Pin(integers[t][r]);
      }
    }
  }
};

struct Q8_0 {
  static constexpr int kTileBytes = kTileBytesQ8_0;
  static constexpr int kTilesAtOnce = 2;
  static constexpr int kInputBytes = sizeof(QuantBlock);

  // |w| (0..128, as unsigned) times x with w's sign: a pair is at most 2 * 128 * 127 = 32512, so
  // the 16-bit sum of one pair never saturates; pairs add up in 32 bits. w = -128 needs no care:
  // its |w| is 128 unsigned, and only x (never -128) is negated.
  template <int kTiles, int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kTiles, kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    const std::int64_t tile_stride = work.depth * kTileBytes;
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::int64_t b = 0; b < work.depth; ++b, ++x, tile += kTileBytes) {
      __m256i integers[kTiles][kRows];
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        __m256i w[kTiles];
        __m256i magnitude[kTiles];
#pragma GCC unroll 2
        for (int t = 0; t < kTiles; ++t) {
          w[t] = Load(tile + t * tile_stride + 32 * j);
          magnitude[t] = _mm256_abs_epi8(w[t]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const __m256i four = Broadcast4(x[r * work.quant_stride].q + 4 * j);
#pragma GCC unroll 2
          for (int t = 0; t < kTiles; ++t) {
            const __m256i pairs = _mm256_maddubs_epi16(magnitude[t], _mm256_sign_epi8(four, w[t]));
            const __m256i product = _mm256_madd_epi16(pairs, ones);
            integers[t][r] = j == 0 ? product : _mm256_add_epi32(integers[t][r], product);
            Pin(integers[t][r]);
          }
        }
      }
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) {
        const std::byte* at = tile + t * tile_stride;
        PrefetchTile<kTileBytes>(at);
        const __m256 d = LoadHalves(at + 256);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const __m256 scale =
              _mm256_mul_ps(d, _mm256_broadcast_ss(&x[r * work.quant_stride].scale));
          sums[t][r] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(integers[t][r]), sums[t][r]);
        }
      }
    }
  }
};

template <int kBytes>
struct Floats {
  static constexpr int kTileBytes = kBytes;
  static constexpr int kTilesAtOnce = 2;
  static constexpr int kInputBytes = sizeof(float);

  static __m256 Column(const std::byte* at) {
    if constexpr (kBytes == kTileBytesF16) return LoadHalves(at);
    return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
  }

  template <int kTiles, int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kTiles, kRows>& sums) {
    const float* x = work.floats + row * work.float_stride;
    const std::int64_t tile_stride = work.depth * kBytes;
    for (std::int64_t k = 0; k < work.depth; ++k, ++x, tile += kBytes) {
      __m256 w[kTiles];
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) w[t] = Column(tile + t * tile_stride);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const __m256 value = _mm256_broadcast_ss(x + r * work.float_stride);
#pragma GCC unroll 2
        for (int t = 0; t < kTiles; ++t) sums[t][r] = _mm256_fmadd_ps(w[t], value, sums[t][r]);
      }
    }
  }
};

template <class Format, int kTiles, int kRows>
void OneRegisterTile(const MatMulWork& work, std::int64_t tile, std::int32_t row) {
  Sums<kTiles, kRows> sums;
#pragma GCC unroll 2
  for (int t = 0; t < kTiles; ++t)
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[t][r] = _mm256_setzero_ps();
  const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
  Format::template Dot<kTiles, kRows>(work, weights, row, sums);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    float* out = work.out + (row + r) * work.out_stride + tile * kTileRows;
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t, out += kTileRows) {
      // The whole sum is added at once, so that adding does not change its bits.
      const __m256 sum =
          work.store == Store::kAdd ? _mm256_add_ps(_mm256_loadu_ps(out), sums[t][r]) : sums[t][r];
      _mm256_storeu_ps(out, sum);
    }
  }
}

// Input rows begin .. end - 1, while kTiles tiles of weights stay in the first-level cache.
template <class Format, int kTiles>
void SomeTiles(const MatMulWork& work, std::int64_t tile, std::int32_t begin, std::int32_t end) {
  std::int32_t row = begin;
  for (; row + kMaxRows <= end; row += kMaxRows)
    OneRegisterTile<Format, kTiles, kMaxRows>(work, tile, row);
  switch (end - row) {
    case 3:
      return OneRegisterTile<Format, kTiles, 3>(work, tile, row);
    case 2:
      return OneRegisterTile<Format, kTiles, 2>(work, tile, row);
    case 1:
      return OneRegisterTile<Format, kTiles, 1>(work, tile, row);
    default:
      return;
  }
}

template <class Format>
void Product(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  constexpr int kTiles = Format::kTilesAtOnce;
  auto group = static_cast<std::int32_t>(kGroupBytes / (work.depth * Format::kInputBytes));
  group = group < kMaxRows ? kMaxRows : group / kMaxRows * kMaxRows;
  for (std::int32_t begin = 0; begin < work.rows; begin += group) {
    const std::int32_t end = work.rows - begin < group ? work.rows : begin + group;
    std::int64_t tile = first;
    for (; tile + kTiles <= last; tile += kTiles) SomeTiles<Format, kTiles>(work, tile, begin, end);
    for (; tile < last; ++tile) SomeTiles<Format, 1>(work, tile, begin, end);
  }
}

}  // namespace

void MatMulF32(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<kTileBytesF32>>(work, first, last);
}

void MatMulF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<kTileBytesF16>>(work, first, last);
}

void MatMulQ4_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Q4_1>(work, first, last);
}

void MatMulQ8_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Q8_0>(work, first, last);
}

}  // namespace banyan::kernels::avx2
