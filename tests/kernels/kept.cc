#include "tests/kernels/kept.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/hadamard.h"

namespace banyan::kernels::testing {
namespace {

// A binary floating point format: `mantissa` bits behind the leading one, and the least exponent
// of a number that has that.
struct Float {
  int mantissa;
  int least_exponent;
};
constexpr Float kHalf = {10, -14};
constexpr Float kBfloat = {7, -126};
constexpr Float kE4M3 = {3, -6};
constexpr double kE4M3Greatest = 448;

// To nearest even, as if exponents had no upper end.
double Round(double x, const Float& format) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const double step = std::ldexp(1.0, exponent - format.mantissa);
  return std::nearbyint(x / step) * step;
}

// Sign, exponent and mantissa of finite numbers.
double Value(std::uint32_t bits, int exponent_bits, const Float& format) {
  const std::uint32_t mantissa = bits & ((1U << format.mantissa) - 1);
  const auto exponent = static_cast<int>(bits >> format.mantissa & ((1U << exponent_bits) - 1));
  const bool negative = (bits >> (format.mantissa + exponent_bits) & 1) != 0;
  const double fraction = std::ldexp(mantissa, -format.mantissa) + (exponent > 0 ? 1 : 0);
  const double value = std::ldexp(fraction, std::max(exponent - 1, 0) + format.least_exponent);
  return negative ? -value : value;
}

double Rounded(KvFormat format, float x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (format) {
    case KvFormat::kF16: {
      const double y = Round(x, kHalf);
      return std::fabs(y) > 65504 ? std::copysign(kInfinity, y) : y;
    }
    case KvFormat::kBf16:
      return Round(x, kBfloat);
    default:
      return std::clamp(Round(x, kE4M3), -kE4M3Greatest, kE4M3Greatest);
  }
}

Row KeptCodes(std::span<const float> head) {
  float greatest = 0;
  for (const float x : head) greatest = std::max(greatest, std::fabs(x));
  const auto scale = static_cast<float>(Rounded(KvFormat::kF16, greatest / 127.0F));
  Row out;
  for (const float x : head) {
    const float code = scale == 0 ? 0 : std::clamp(std::nearbyint(x / scale), -127.0F, 127.0F);
    out.push_back(code * scale);
  }
  return out;
}

}  // namespace

Row Kept(KvFormat format, std::span<const float> head) {
  const bool finite = std::ranges::all_of(head, [](float x) { return std::isfinite(x); });
  if (!finite && (format == KvFormat::kFp8 || format == KvFormat::kInt8))
    return Row(head.size(), std::numeric_limits<float>::quiet_NaN());
  if (format == KvFormat::kInt8) return KeptCodes(head);
  Row out;
  for (const float x : head) out.push_back(static_cast<float>(Rounded(format, x)));
  return out;
}

Row InKeyBasis(KvFormat format, std::span<const float> head) {
  Row out(head.begin(), head.end());
  if (SpreadsKeys(format)) Hadamard(out.data(), std::ssize(out));
  return out;
}

Row KeptKey(KvFormat format, std::span<const float> head) {
  return InKeyBasis(format, Kept(format, InKeyBasis(format, head)));
}

float HalfValue(std::uint16_t half) {
  if ((half & 0x7c00) == 0x7c00) {
    const bool nan = (half & 0x3ff) != 0;
    const float value =
        nan ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    return (half & 0x8000) != 0 ? -value : value;
  }
  return static_cast<float>(Value(half, 5, kHalf));
}

float Decoded(KvFormat format, const std::byte* number) {
  std::uint16_t two = 0;
  std::memcpy(&two, number, static_cast<std::size_t>(LayoutOf(format).bytes));
  const auto one = static_cast<std::uint8_t>(*number);
  switch (format) {
    case KvFormat::kF16:
      return HalfValue(two);
    case KvFormat::kBf16:
      if ((two & 0x7f80) != 0x7f80) return static_cast<float>(Value(two, 8, kBfloat));
      return (two & 0x7f) != 0 ? std::numeric_limits<float>::quiet_NaN()
                               : std::copysign(std::numeric_limits<float>::infinity(),
                                               (two & 0x8000) != 0 ? -1.0F : 1.0F);
    case KvFormat::kFp8:
      return (one & 0x7f) == 0x7f ? std::numeric_limits<float>::quiet_NaN()
                                  : static_cast<float>(Value(one, 4, kE4M3));
    case KvFormat::kInt8:
      return static_cast<std::int8_t>(one);
    case KvFormat::kInt4:
      break;  // has no numbers that stand alone
  }
  return 0;
}

}  // namespace banyan::kernels::testing
