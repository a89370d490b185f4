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

void Prefetch(const std::byte* at) { _mm_prefetch(at, _MM_HINT_T0); }

struct Q4_1 {
  static std::int64_t RowBytes(std::int64_t depth) {
    return depth * static_cast<std::int64_t>(sizeof(QuantBlock));
  }

  // Eight products of nibbles (0..15) and int8 (-127..127), each a pair, fit 16 bits when summed:
  // |sum| <= 8 * 2 * 15 * 127 = 30480 <= 32767.
  static __m256 IntegerSum(const __m256i (&w)[8], const std::int8_t* q) {
    const __m256i s0 = _mm256_add_epi16(_mm256_maddubs_epi16(w[0], Broadcast4(q)),
                                        _mm256_maddubs_epi16(w[1], Broadcast4(q + 4)));
    const __m256i s1 = _mm256_add_epi16(_mm256_maddubs_epi16(w[2], Broadcast4(q + 8)),
                                        _mm256_maddubs_epi16(w[3], Broadcast4(q + 12)));
    const __m256i s2 = _mm256_add_epi16(_mm256_maddubs_epi16(w[4], Broadcast4(q + 16)),
                                        _mm256_maddubs_epi16(w[5], Broadcast4(q + 20)));
    const __m256i s3 = _mm256_add_epi16(_mm256_maddubs_epi16(w[6], Broadcast4(q + 24)),
                                        _mm256_maddubs_epi16(w[7], Broadcast4(q + 28)));
    const __m256i sum = _mm256_add_epi16(_mm256_add_epi16(s0, s1), _mm256_add_epi16(s2, s3));
    return _mm256_cvtepi32_ps(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
  }

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  __m256 (&sums)[kRows]) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    const __m256i low = _mm256_set1_epi8(15);
    for (std::int64_t b = 0; b < work.depth; ++b, ++x, tile += kTileBytesQ4_1) {
      Prefetch(tile + kPrefetchBytes);
      Prefetch(tile + kPrefetchBytes + 64);
      Prefetch(tile + kPrefetchBytes + 128);
      __m256i w[8];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m256i pairs = Load(tile + 32 * j);
        w[j] = _mm256_and_si256(pairs, low);
        w[j + 4] = _mm256_and_si256(_mm256_srli_epi16(pairs, 4), low);
      }
      const __m256 d = LoadHalves(tile + 128);
      const __m256 m = LoadHalves(tile + 144);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const QuantBlock& block = x[r * work.quant_stride];
        const __m256 scale = _mm256_mul_ps(d, _mm256_broadcast_ss(&block.scale));
        sums[r] = _mm256_fmadd_ps(scale, IntegerSum(w, block.q), sums[r]);
        sums[r] = _mm256_fmadd_ps(m, _mm256_broadcast_ss(&block.sum), sums[r]);
      }
    }
  }
};

struct Q8_0 {
  static std::int64_t RowBytes(std::int64_t depth) {
    return depth * static_cast<std::int64_t>(sizeof(QuantBlock));
  }

  // |w| (0..128, as unsigned) times x with w's sign: a pair is at most 2 * 128 * 127 = 32512, so
  // the 16-bit sum of one pair never saturates; pairs add up in 32 bits. w = -128 needs no care:
  // its |w| is 128 unsigned, and only x (never -128) is negated.
  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  __m256 (&sums)[kRows]) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::int64_t b = 0; b < work.depth; ++b, ++x, tile += kTileBytesQ8_0) {
      __m256i integers[kRows];
      for (__m256i& integer : integers) integer = _mm256_setzero_si256();
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        if (j % 2 == 0) Prefetch(tile + kPrefetchBytes + 32 * j);
        const __m256i w = Load(tile + 32 * j);
        const __m256i magnitude = _mm256_abs_epi8(w);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const __m256i four = Broadcast4(x[r * work.quant_stride].q + 4 * j);
          const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(four, w));
          integers[r] = _mm256_add_epi32(integers[r], _mm256_madd_epi16(pairs, ones));
        }
      }
      const __m256 d = LoadHalves(tile + 256);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const __m256 scale = _mm256_mul_ps(d, _mm256_broadcast_ss(&x[r * work.quant_stride].scale));
        sums[r] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(integers[r]), sums[r]);
      }
    }
  }
};

template <int kTileBytes>
struct Floats {
  static std::int64_t RowBytes(std::int64_t depth) { return depth * 4; }

  static __m256 Column(const std::byte* at) {
    if constexpr (kTileBytes == kTileBytesF16) return LoadHalves(at);
    return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
  }

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  __m256 (&sums)[kRows]) {
    const float* x = work.floats + row * work.float_stride;
    for (std::int64_t k = 0; k < work.depth; ++k, ++x, tile += kTileBytes) {
      const __m256 w = Column(tile);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
        sums[r] = _mm256_fmadd_ps(w, _mm256_broadcast_ss(x + r * work.float_stride), sums[r]);
    }
  }
};

template <class Format, int kRows>
void OneTile(const MatMulWork& work, const std::byte* tile, std::int32_t row, float* out) {
  __m256 sums[kRows];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  Format::template Dot<kRows>(work, tile, row, sums);
  out += row * work.out_stride;
  for (int r = 0; r < kRows; ++r, out += work.out_stride) {
    // The whole sum is added at once, so that adding does not change its bits.
    if (work.store == Store::kAdd) sums[r] = _mm256_add_ps(_mm256_loadu_ps(out), sums[r]);
    _mm256_storeu_ps(out, sums[r]);
  }
}

template <class Format>
void OneTileAllRows(const MatMulWork& work, const std::byte* tile, std::int32_t begin,
                    std::int32_t end, float* out) {
  std::int32_t row = begin;
  for (; row + kMaxRows <= end; row += kMaxRows) OneTile<Format, kMaxRows>(work, tile, row, out);
  switch (end - row) {
    case 3:
      return OneTile<Format, 3>(work, tile, row, out);
    case 2:
      return OneTile<Format, 2>(work, tile, row, out);
    case 1:
      return OneTile<Format, 1>(work, tile, row, out);
    default:
      return;
  }
}

template <class Format>
void Product(const MatMulWork& work, std::int64_t tile_bytes, std::int64_t first,
             std::int64_t last) {
  const std::int64_t row_bytes = Format::RowBytes(work.depth);
  std::int32_t group = static_cast<std::int32_t>(kGroupBytes / row_bytes) / kMaxRows * kMaxRows;
  if (group < kMaxRows) group = kMaxRows;
  for (std::int32_t begin = 0; begin < work.rows; begin += group) {
    const std::int32_t end = work.rows - begin < group ? work.rows : begin + group;
    for (std::int64_t tile = first; tile < last; ++tile)
      OneTileAllRows<Format>(work, work.tiles + tile * work.depth * tile_bytes, begin, end,
                             work.out + tile * kTileRows);
  }
}

}  // namespace

void MatMulF32(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<kTileBytesF32>>(work, kTileBytesF32, first, last);
}

void MatMulF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<kTileBytesF16>>(work, kTileBytesF16, first, last);
}

void MatMulQ4_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Q4_1>(work, kTileBytesQ4_1, first, last);
}

void MatMulQ8_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Q8_0>(work, kTileBytesQ8_0, first, last);
}

}  // namespace banyan::kernels::avx2
