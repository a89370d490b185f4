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

// A register tile: the two halves (of eight rows) of a tile of weights times kRows input rows.
// Loops over its registers are all unrolled: a single one that is not would keep it in memory.
// Each format's Dot adds to sums[h][r] the products of half h and input row `row` + r.
constexpr int kHalves = 2;
template <int kRows>
using Sums = __m256[kHalves][kRows];

struct Q4_1 {
  static constexpr int kTileBytes = kTileBytesQ4_1;
  static constexpr int kInputBytes = sizeof(QuantBlock);

  // Eight products of nibbles (0..15) and int8 (-127..127), each a pair, fit 16 bits when summed:
  // |sum| <= 8 * 2 * 15 * 127 = 30480 <= 32767.
  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    const __m256i low = _mm256_set1_epi8(15);
    for (std::int64_t b = 0; b < work.depth; ++b, ++x, tile += kTileBytes) {
      __m256i integers[kHalves][kRows];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        __m256i pairs[kHalves];
        __m256i w[kHalves];
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h) {
          pairs[h] = Load(tile + 64 * j + 32 * h);
          w[h] = _mm256_and_si256(pairs[h], low);
        }
        AddProducts<kRows>(w, x, work.quant_stride, 4 * j, j == 0, integers);
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h)
          w[h] = _mm256_and_si256(_mm256_srli_epi16(pairs[h], 4), low);
        AddProducts<kRows>(w, x, work.quant_stride, 16 + 4 * j, false, integers);
      }
      const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        const __m256 d = LoadHalves(tile + 256 + 16 * h);
        const __m256 m = LoadHalves(tile + 288 + 16 * h);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const QuantBlock& block = x[r * work.quant_stride];
          const __m256 scale = _mm256_mul_ps(d, _mm256_broadcast_ss(&block.scale));
          const __m256 integer = _mm256_cvtepi32_ps(_mm256_madd_epi16(integers[h][r], ones));
          sums[h][r] = _mm256_fmadd_ps(scale, integer, sums[h][r]);
          sums[h][r] = _mm256_fmadd_ps(m, _mm256_broadcast_ss(&block.sum), sums[h][r]);
        }
      }
    }
  }

  template <int kRows>
  static void AddProducts(const __m256i (&w)[kHalves], const QuantBlock* x, std::int64_t stride,
                          int column, bool first, __m256i (&integers)[kHalves][kRows]) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m256i four = Broadcast4(x[r * stride].q + column);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        const __m256i product = _mm256_maddubs_epi16(w[h], four);
        integers[h][r] = first ? product : _mm256_add_epi16(integers[h][r], product);
        Pin(integers[h][r]);
      }
    }
  }
};

struct Q8_0 {
  static constexpr int kTileBytes = kTileBytesQ8_0;
  static constexpr int kInputBytes = sizeof(QuantBlock);

  // |w| (0..128, as unsigned) times x with w's sign: a pair is at most 2 * 128 * 127 = 32512, so
  // the 16-bit sum of one pair never saturates; pairs add up in 32 bits. w = -128 needs no care:
  // its |w| is 128 unsigned, and only x (never -128) is negated.
  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::int64_t b = 0; b < work.depth; ++b, ++x, tile += kTileBytes) {
      __m256i integers[kHalves][kRows];
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        __m256i w[kHalves];
        __m256i magnitude[kHalves];
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h) {
          w[h] = Load(tile + 64 * j + 32 * h);
          magnitude[h] = _mm256_abs_epi8(w[h]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const __m256i four = Broadcast4(x[r * work.quant_stride].q + 4 * j);
#pragma GCC unroll 2
          for (int h = 0; h < kHalves; ++h) {
            const __m256i pairs = _mm256_maddubs_epi16(magnitude[h], _mm256_sign_epi8(four, w[h]));
            const __m256i product = _mm256_madd_epi16(pairs, ones);
            integers[h][r] = j == 0 ? product : _mm256_add_epi32(integers[h][r], product);
            Pin(integers[h][r]);
          }
        }
      }
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        const __m256 d = LoadHalves(tile + 512 + 16 * h);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const __m256 scale =
              _mm256_mul_ps(d, _mm256_broadcast_ss(&x[r * work.quant_stride].scale));
          sums[h][r] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(integers[h][r]), sums[h][r]);
        }
      }
    }
  }
};

template <int kBytes>
struct Floats {
  static constexpr int kTileBytes = kBytes;
  static constexpr int kInputBytes = sizeof(float);

  static __m256 Column(const std::byte* at) {
    if constexpr (kBytes == kTileBytesF16) return LoadHalves(at);
    return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
  }

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kRows>& sums) {
    const float* x = work.floats + row * work.float_stride;
    for (std::int64_t k = 0; k < work.depth; ++k, ++x, tile += kBytes) {
      __m256 w[kHalves];
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) w[h] = Column(tile + h * kBytes / 2);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const __m256 value = _mm256_broadcast_ss(x + r * work.float_stride);
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h) sums[h][r] = _mm256_fmadd_ps(w[h], value, sums[h][r]);
      }
    }
  }
};

template <class Format, int kRows>
void OneRegisterTile(const MatMulWork& work, std::int64_t tile, std::int32_t row) {
  Sums<kRows> sums;
#pragma GCC unroll 2
  for (int h = 0; h < kHalves; ++h)
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[h][r] = _mm256_setzero_ps();
  const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
  Format::template Dot<kRows>(work, weights, row, sums);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    float* out = work.out + (row + r) * work.out_stride + tile * kTileRows;
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h, out += kTileRows / kHalves) {
      // The whole sum is added at once, so that adding does not change its bits.
      const __m256 sum =
          work.store == Store::kAdd ? _mm256_add_ps(_mm256_loadu_ps(out), sums[h][r]) : sums[h][r];
      _mm256_storeu_ps(out, sum);
    }
  }
}

// Input rows begin .. end - 1, while one tile of weights stays in the first-level cache.
template <class Format>
void OneTile(const MatMulWork& work, std::int64_t tile, std::int32_t begin, std::int32_t end) {
  std::int32_t row = begin;
  for (; row + kMaxRows <= end; row += kMaxRows) OneRegisterTile<Format, kMaxRows>(work, tile, row);
  switch (end - row) {
    case 3:
      return OneRegisterTile<Format, 3>(work, tile, row);
    case 2:
      return OneRegisterTile<Format, 2>(work, tile, row);
    case 1:
      return OneRegisterTile<Format, 1>(work, tile, row);
    default:
      return;
  }
}

template <class Format>
void Product(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  auto group = static_cast<std::int32_t>(kGroupBytes / (work.depth * Format::kInputBytes));
  group = group < kMaxRows ? kMaxRows : group / kMaxRows * kMaxRows;
  for (std::int32_t begin = 0; begin < work.rows; begin += group) {
    const std::int32_t end = work.rows - begin < group ? work.rows : begin + group;
    for (std::int64_t tile = first; tile < last; ++tile) OneTile<Format>(work, tile, begin, end);
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
