// Operations on single rows of activations, and their quantization. Tails of a row are handled by
// vectors whose missing lanes are zero, so an element's bits do not depend on where it stands.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/math_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

// All ones in the first `n` lanes.
__m256i FirstLanes(std::int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// x[i .. i + 7]: all of them, or with zeros from x[n] on.
struct Whole {};
struct Part {};
__m256 LoadAt(Whole, const float* x, std::int64_t i, std::int64_t) {
  return _mm256_loadu_ps(x + i);
}
__m256 LoadAt(Part, const float* x, std::int64_t i, std::int64_t n) {
  return _mm256_maskload_ps(x + i, FirstLanes(n - i));
}

// The greatest magnitude as the integer that represents it: infinity is above all numbers and NaN
// above infinity, so neither can hide.
int GreatestMagnitude(const __m256 (&x)[4]) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256i most = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (const __m256 v : x)
    most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(v), magnitude));
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

// What is known of the sums of a block's q before any weight is seen.
[[gnu::always_inline]] inline void Sum(__m256i q, QuantBlock* out) {
  // Two sums of 16 bits, p = 0 and 1, in every 32 bits: of the first 16 values in the lower half of
  // the register, of the others in the upper one.
  __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
  pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0x4e));
  pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0xb1));
  const __m256i totals = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  const int total = _mm_cvtsi128_si32(
      _mm_add_epi32(_mm256_castsi256_si128(totals), _mm256_extracti128_si256(totals, 1)));
  out->sum = out->scale * static_cast<float>(total);
  // |pairs| <= 8 * 127, sixteen times which fits.
  const __m256i centring = _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_slli_epi16(pairs, 4));
  const int first = _mm_cvtsi128_si32(_mm256_castsi256_si128(centring));
  const int second = _mm_cvtsi128_si32(_mm256_extracti128_si256(centring, 1));
  __builtin_memcpy(out->centring[0], &first, sizeof first);
  __builtin_memcpy(out->centring[1], &second, sizeof second);
}

// Symmetric, to nearest even. A block with an infinity or a NaN gets that as its scale; one whose
// magnitudes are all below 1e-30 is zero.
[[gnu::always_inline]] inline void QuantizeBlock(const __m256 (&x)[4], QuantBlock* out) {
  const int bits = GreatestMagnitude(x);
  float greatest;
  __builtin_memcpy(&greatest, &bits, sizeof greatest);
  const bool tiny = greatest < 1e-30F;
  out->scale = tiny ? 0.0F : greatest / 127.0F;
  const __m256 inverse = _mm256_set1_ps(tiny ? 0.0F : 127.0F / greatest);
  __m256i q[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], inverse));
  // Packing works within halves of 16 bytes: it leaves groups of four in the order 0 2 4 6 1 3 5 7.
  __m256i bytes =
      _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
  bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8(-127));  // the bound that MatMul counts on
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out->q), bytes);
  Sum(bytes, out);
}

// Writes values i .. i + 7 for i = 0, 8, .. to both forms of a row; `value` is called with Whole or
// Part and i.
template <class F>
void Emit(std::int64_t cols, const RowOut& out, const F& value) {
  std::int64_t i = 0;
  if (out.blocks == nullptr) {
    for (; i + 8 <= cols; i += 8) _mm256_storeu_ps(out.floats + i, value(Whole{}, i));
    if (i < cols) _mm256_maskstore_ps(out.floats + i, FirstLanes(cols - i), value(Part{}, i));
    return;
  }
  for (; i < cols; i += kQuantBlock) {
    __m256 x[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) x[j] = value(Whole{}, i + 8 * j);
    if (out.floats != nullptr)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) _mm256_storeu_ps(out.floats + i + 8 * j, x[j]);
    QuantizeBlock(x, out.blocks + i / kQuantBlock);
  }
}

// 1 / sqrt(mean(x^2) + eps) in every lane.
__m256 InverseRoot(const float* x, float eps, std::int64_t cols) {
  __m256 squares = _mm256_setzero_ps();
  std::int64_t k = 0;
  for (; k + 8 <= cols; k += 8) {
    const __m256 v = LoadAt(Whole{}, x, k, cols);
    squares = _mm256_fmadd_ps(v, v, squares);
  }
  if (k < cols) {
    const __m256 v = LoadAt(Part{}, x, k, cols);
    squares = _mm256_fmadd_ps(v, v, squares);
  }
  const float mean = HorizontalSum(squares) / static_cast<float>(cols);
  const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + eps)));
  return _mm256_set1_ps(1.0F / root);
}

// gate / (1 + exp(-argument(gate))) * up.
template <class F>
void Gate(const float* gate, const float* up, std::int64_t cols, const RowOut& out,
          const F& argument) {
  Emit(cols, out, [&](auto lanes, std::int64_t i) {
    const __m256 g = LoadAt(lanes, gate, i, cols);
    const __m256 negated = _mm256_sub_ps(_mm256_setzero_ps(), argument(g));
    const __m256 divisor = _mm256_add_ps(_mm256_set1_ps(1.0F), Exp(negated));
    return _mm256_mul_ps(_mm256_div_ps(g, divisor), LoadAt(lanes, up, i, cols));
  });
}

}  // namespace

void Quantize(const float* x, std::int64_t cols, const RowOut& out) {
  Emit(cols, out, [&](auto lanes, std::int64_t i) { return LoadAt(lanes, x, i, cols); });
}

// `out.floats` may be x: every value is read before it is written.
void RmsNorm(const float* x, const float* weight, float eps, std::int64_t cols, const RowOut& out) {
  const __m256 inverse = InverseRoot(x, eps, cols);
  Emit(cols, out, [&](auto lanes, std::int64_t i) {
    const __m256 unit = _mm256_mul_ps(LoadAt(lanes, x, i, cols), inverse);
    return _mm256_mul_ps(unit, LoadAt(lanes, weight, i, cols));
  });
}

void RmsNormAdd(const float* in, const float* weight, float eps, std::int64_t cols, float* x) {
  const __m256 inverse = InverseRoot(in, eps, cols);
  Emit(cols, {nullptr, x}, [&](auto lanes, std::int64_t i) {
    const __m256 unit = _mm256_mul_ps(LoadAt(lanes, in, i, cols), inverse);
    return _mm256_fmadd_ps(unit, LoadAt(lanes, weight, i, cols), LoadAt(lanes, x, i, cols));
  });
}

void Add(const float* v, std::int64_t cols, float* x) {
  Emit(cols, {nullptr, x}, [&](auto lanes, std::int64_t i) {
    return _mm256_add_ps(LoadAt(lanes, x, i, cols), LoadAt(lanes, v, i, cols));
  });
}

void GateSilu(const float* gate, const float* up, std::int64_t cols, const RowOut& out) {
  Gate(gate, up, cols, out, [](__m256 g) { return g; });
}

// (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)), which keeps its relative accuracy where tanh is near
// -1.
void GateGeluTanh(const float* gate, const float* up, std::int64_t cols, const RowOut& out) {
  Gate(gate, up, cols, out, [](__m256 g) {
    const __m256 twice_root = _mm256_set1_ps(1.5957691216F);  // 2 sqrt(2 / pi)
    const __m256 cubic = _mm256_mul_ps(_mm256_set1_ps(0.0713548163F), _mm256_mul_ps(g, g));
    return _mm256_mul_ps(g, _mm256_add_ps(twice_root, cubic));
  });
}

void RotateNeighbours(float* x, const float* cos, const float* sin, std::int64_t dims) {
  const auto turn = [&](auto lanes, std::int64_t i) {
    const __m256 v = LoadAt(lanes, x, i, dims);
    const __m256 swapped = _mm256_mul_ps(_mm256_permute_ps(v, 0xb1), _mm256_loadu_ps(sin + i));
    return _mm256_fmadd_ps(v, _mm256_loadu_ps(cos + i), swapped);
  };
  Emit(dims, {nullptr, x}, turn);
}

void RotateHalves(float* x, const float* cos, const float* sin, std::int64_t dims) {
  const std::int64_t pairs = dims / 2;
  for (std::int64_t i = 0; i < pairs; i += 8) {
    const __m256i lanes = FirstLanes(pairs - i);
    const __m256 a = _mm256_maskload_ps(x + i, lanes);
    const __m256 b = _mm256_maskload_ps(x + pairs + i, lanes);
    const __m256 c = _mm256_loadu_ps(cos + i);
    const __m256 s = _mm256_loadu_ps(sin + i);
    _mm256_maskstore_ps(x + i, lanes, _mm256_fmsub_ps(a, c, _mm256_mul_ps(b, s)));
    _mm256_maskstore_ps(x + pairs + i, lanes, _mm256_fmadd_ps(b, c, _mm256_mul_ps(a, s)));
  }
}

}  // namespace banyan::kernels::avx2
