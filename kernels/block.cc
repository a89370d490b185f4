#include "kernels/block.h"

#include <cstring>

#include "kernels/half.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

std::uint8_t Byte(const std::byte* at) { return std::to_integer<std::uint8_t>(*at); }

template <class Word>
Word Load(const void* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Low nibbles are the first `bytes` codes, high nibbles the next.
void TakeNibbles(const std::byte* __restrict at, int bytes, std::uint8_t* __restrict codes) {
  for (int i = 0; i < bytes; ++i) {
    codes[i] = Byte(at + i) & 15;
    codes[bytes + i] = Byte(at + i) >> 4;
  }
}

// Bit i of a little-endian word is the fifth bit of code i.
void TakeFifthBits(const std::byte* at, std::uint8_t* codes) {
  const auto bits = Load<std::uint32_t>(at);
  for (int i = 0; i < 32; i += 4) {
    // Four bits to the lowest of four bytes: bit b of the factor's copy b lands on bit 8 b.
    const std::uint32_t four = (bits >> i & 15) * 0x00204081U & 0x01010101U;
    const std::uint32_t word = Load<std::uint32_t>(codes + i) | four << 4;
    std::memcpy(codes + i, &word, sizeof word);
  }
}

// The `count` bits from `shift` on of byte i of 32 go above the nibble of code i.
void TakeHighBits(const std::byte* at, int shift, int count, std::uint8_t* codes) {
  const std::uint64_t mask = ((1U << count) - 1) * 0x0101010101010101U;
  for (int i = 0; i < 32; i += 8) {
    const std::uint64_t high = Load<std::uint64_t>(at + i) >> shift & mask;
    const std::uint64_t word = Load<std::uint64_t>(codes + i) | high << 4;
    std::memcpy(codes + i, &word, sizeof word);
  }
}

// Eight scales and eight mins of 6 bits in 12 bytes: the lower four of each in bytes 0..3 and 4..7,
// whose upper two bits are those of the upper four, the rest of which is in nibbles of bytes 8..11.
void TakeScalesAndMins(const std::byte* at, Codes& out) {
  for (int i = 0; i < 4; ++i) {
    const std::uint8_t scale = Byte(at + i);
    const std::uint8_t min = Byte(at + 4 + i);
    const std::uint8_t both = Byte(at + 8 + i);
    out.scales[i] = scale & 63;
    out.mins[i] = min & 63;
    out.scales[4 + i] = (both & 15) | (scale >> 6) << 4;
    out.mins[4 + i] = both >> 4 | (min >> 6) << 4;
  }
}

void TakeQ5_K(const std::byte* block, Codes& out) {
  TakeScalesAndMins(block + 4, out);
  for (int run = 0; run < 8; run += 2)
    TakeNibbles(block + 48 + 16 * run, 32, out.codes.data() + 32 * run);
  // Byte i holds the fifth bits of column i of each run.
  for (int run = 0; run < 8; ++run) TakeHighBits(block + 16, run, 1, out.codes.data() + 32 * run);
}

void TakeQ6_K(const std::byte* block, Codes& out) {
  const std::byte* low = block;
  const std::byte* high = block + 128;
  std::memcpy(out.scales.data(), block + 192, 16);
  out.d = Load<std::uint16_t>(block + 208);
  std::uint8_t* codes = out.codes.data();
  for (int half = 0; half < 2; ++half, low += 64, high += 32, codes += 128) {
    TakeNibbles(low, 64, codes);
    // Byte i holds two more bits of columns i, 32 + i, 64 + i and 96 + i.
    for (int part = 0; part < 4; ++part) TakeHighBits(high, 2 * part, 2, codes + 32 * part);
  }
}

// d * (code - centre).
void ExpandCentred(const Codes& in, int centre, float* out) {
  const float d = HalfToFloat(in.d);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(in.codes[i] - centre);
}

void ExpandAffine(const Codes& in, float* out) {
  const float d = HalfToFloat(in.d);
  const float m = HalfToFloat(in.m);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(in.codes[i]) + m;
}

void ExpandAffineRuns(const Codes& in, float* out) {
  const float d = HalfToFloat(in.d);
  const float m = HalfToFloat(in.m);
  for (int run = 0; run < 8; ++run) {
    const float scale = d * static_cast<float>(in.scales[run]);
    const float min = m * static_cast<float>(in.mins[run]);
    for (int i = 32 * run; i < 32 * (run + 1); ++i)
      out[i] = scale * static_cast<float>(in.codes[i]) - min;
  }
}

void ExpandQ6_K(const Codes& in, float* out) {
  const float d = HalfToFloat(in.d);
  for (int run = 0; run < 16; ++run) {
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(in.scales[run]));
    for (int i = 16 * run; i < 16 * (run + 1); ++i)
      out[i] = scale * static_cast<float>(in.codes[i] - 32);
  }
}

}  // namespace

void TakeApart(DType type, const std::byte* block, Codes& out) {
  if (type != DType::kQ6_K) out.d = Load<std::uint16_t>(block);
  switch (type) {
    case DType::kQ4_0:
      return TakeNibbles(block + 2, 16, out.codes.data());
    case DType::kQ4_1:
      out.m = Load<std::uint16_t>(block + 2);
      return TakeNibbles(block + 4, 16, out.codes.data());
    case DType::kQ5_0:
      TakeNibbles(block + 6, 16, out.codes.data());
      return TakeFifthBits(block + 2, out.codes.data());
    case DType::kQ5_1:
      out.m = Load<std::uint16_t>(block + 2);
      TakeNibbles(block + 8, 16, out.codes.data());
      return TakeFifthBits(block + 4, out.codes.data());
    case DType::kQ8_0:
      std::memcpy(out.codes.data(), block + 2, 32);
      return;
    case DType::kQ4_K:
      out.m = Load<std::uint16_t>(block + 2);
      TakeScalesAndMins(block + 4, out);
      for (int run = 0; run < 8; run += 2)
        TakeNibbles(block + 16 + 16 * run, 32, out.codes.data() + 32 * run);
      return;
    case DType::kQ5_K:
      out.m = Load<std::uint16_t>(block + 2);
      return TakeQ5_K(block, out);
    case DType::kQ6_K:
      return TakeQ6_K(block, out);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  RequireFailed("TakeApart: not a quantized type");
}

void Expand(DType type, const Codes& codes, float* out) {
  switch (type) {
    case DType::kQ4_0:
      return ExpandCentred(codes, 8, out);
    case DType::kQ5_0:
      return ExpandCentred(codes, 16, out);
    case DType::kQ4_1:
    case DType::kQ5_1:
      return ExpandAffine(codes, out);
    case DType::kQ8_0: {
      const float d = HalfToFloat(codes.d);
      for (int i = 0; i < 32; ++i)
        out[i] = static_cast<float>(static_cast<std::int8_t>(codes.codes[i])) * d;
      return;
    }
    case DType::kQ4_K:
    case DType::kQ5_K:
      return ExpandAffineRuns(codes, out);
    case DType::kQ6_K:
      return ExpandQ6_K(codes, out);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  RequireFailed("Expand: not a quantized type");
}

}  // namespace banyan::kernels
