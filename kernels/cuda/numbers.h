// Numbers as device memory holds them, by their bits. What they are worth is in kernels/half.h and
// kernels/small_floats.h; in kernels, ToFloat and Rounded (device.h) convert.
#pragma once

#include <cstdint>

namespace banyan::kernels::cuda {

struct Half {  // IEEE 754 binary16
  std::uint16_t bits;
};
struct Bf16 {  // bfloat16
  std::uint16_t bits;
};
struct Fp8 {  // e4m3 of the OCP 8-bit floating point specification 1.0
  static constexpr std::uint8_t kNaN = 0x7f;
  std::uint8_t bits;
};

// What a matrix or an input of products is made of.
enum class NumberType : std::uint8_t { kF32, kF16, kBf16 };

constexpr std::int64_t BytesOf(NumberType type) { return type == NumberType::kF32 ? 4 : 2; }

}  // namespace banyan::kernels::cuda
