// Keys and values as pages keep them.

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/cpu/portable.h"
#include "kernels/half.h"
#include "kernels/small_floats.h"

namespace banyan::kernels::portable {
namespace {

void Put(std::byte* out, std::int64_t i, std::uint16_t bits) {
  std::memcpy(out + 2 * i, &bits, sizeof bits);
}

std::uint16_t Get(const std::byte* from, std::int64_t i) {
  std::uint16_t bits;
  std::memcpy(&bits, from + 2 * i, sizeof bits);
  return bits;
}

// As the integer that represents it: infinity is above all numbers and NaN above infinity.
std::uint32_t GreatestMagnitude(const float* x, std::int64_t n) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU;
    most = magnitude > most ? magnitude : most;
  }
  return most;
}

}  // namespace

void StoreF16(const float* x, std::int64_t n, std::byte* out, std::uint16_t* /*scale*/) {
  for (std::int64_t i = 0; i < n; ++i) Put(out, i, FloatToHalf(x[i]));
}

void StoreBf16(const float* x, std::int64_t n, std::byte* out, std::uint16_t* /*scale*/) {
  for (std::int64_t i = 0; i < n; ++i) Put(out, i, FloatToBf16(x[i]));
}

void StoreFp8(const float* x, std::int64_t n, std::byte* out, std::uint16_t* /*scale*/) {
  const bool finite = GreatestMagnitude(x, n) < 0x7f800000U;
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<std::byte>(finite ? FloatToFp8(x[i]) : Fp8::kNaN);
}

void StoreInt8(const float* x, std::int64_t n, std::byte* out, std::uint16_t* scale) {
  constexpr std::uint16_t kInfinity = 0x7c00;
  constexpr std::uint16_t kNaN = 0x7e00;
  *scale = FloatToHalf(std::bit_cast<float>(GreatestMagnitude(x, n)) / 127.0F);
  if (*scale >= kInfinity) *scale = kNaN;
  const bool codes = *scale != 0 && *scale < kInfinity;
  const float step = HalfToFloat(*scale);
  for (std::int64_t i = 0; i < n; ++i) {
    float code = codes ? std::nearbyint(x[i] / step) : 0.0F;
    code = code > 127.0F ? 127.0F : code;
    code = code < -127.0F ? -127.0F : code;
    out[i] = static_cast<std::byte>(static_cast<std::int8_t>(code));
  }
}

void WidenF16(const std::byte* numbers, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = HalfToFloat(Get(numbers, i));
}

void WidenBf16(const std::byte* numbers, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = Bf16ToFloat(Get(numbers, i));
}

void WidenFp8(const std::byte* numbers, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = Fp8InUnits(std::to_integer<std::uint8_t>(numbers[i]));
}

void WidenInt8(const std::byte* numbers, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::to_integer<std::int8_t>(numbers[i]);
}

}  // namespace banyan::kernels::portable
