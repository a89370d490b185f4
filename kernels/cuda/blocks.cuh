// Blocks of quantized numbers, taken apart eight values at a time: kernels/block.h for the device,
// where the values are defined. To its bits.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/require.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

inline constexpr int kEight = 8;

// Blocks are aligned to two bytes.
__device__ __forceinline__ unsigned LoadPair(const std::byte* at) {
  return *reinterpret_cast<const std::uint16_t*>(at);
}
__device__ __forceinline__ float LoadHalf(const std::byte* at) {
  return ToFloat(*reinterpret_cast<const Half*>(at));
}
__device__ __forceinline__ unsigned LoadByte(const std::byte* at) {
  return static_cast<unsigned>(*at);
}

// Of each of eight bytes, shifted, what the mask leaves.
__device__ __forceinline__ void TakeBits(const std::byte* at, int shift, unsigned mask,
                                         int (&out)[kEight]) {
  for (int i = 0; i < kEight; i += 2) {
    const unsigned two = LoadPair(at + i);
    out[i] = static_cast<int>((two & 0xffU) >> shift & mask);
    out[i + 1] = static_cast<int>(two >> 8 >> shift & mask);
  }
}

// Codes first .. first + 7 of 32: low nibbles are the first sixteen, high ones the others.
__device__ __forceinline__ void TakeNibbles(const std::byte* at, int first, int (&out)[kEight]) {
  TakeBits(at + first % 16, first < 16 ? 0 : 4, 15, out);
}
// Bit i of 32 is the fifth bit of code i.
__device__ __forceinline__ void TakeFifthBits(const std::byte* at, int first, int (&out)[kEight]) {
  const unsigned bits = LoadByte(at + first / kEight);
  for (int i = 0; i < kEight; ++i) out[i] |= static_cast<int>(bits >> i & 1) << 4;
}

__device__ __forceinline__ void Centred(float d, int centre, const int (&codes)[kEight],
                                        float (&out)[kEight]) {
  for (int i = 0; i < kEight; ++i) out[i] = d * static_cast<float>(codes[i] - centre);
}
__device__ __forceinline__ void Affine(float d, float m, const int (&codes)[kEight],
                                       float (&out)[kEight]) {
  for (int i = 0; i < kEight; ++i) out[i] = d * static_cast<float>(codes[i]) + m;
}

// Of eight scales and mins of 6 bits in 12 bytes (block.cc), those of a run.
struct ScaleAndMin {
  float scale;
  float min;

  __device__ static ScaleAndMin Of(const std::byte* at, int run) {
    if (run < 4)
      return {static_cast<float>(LoadByte(at + run) & 63),
              static_cast<float>(LoadByte(at + 4 + run) & 63)};
    const unsigned both = LoadByte(at + 4 + run);
    return {static_cast<float>((both & 15) | LoadByte(at + run - 4) >> 6 << 4),
            static_cast<float>(both >> 4 | LoadByte(at + run) >> 6 << 4)};
  }
};

// Values first .. first + 7 of a block of kValues in kBytes bytes; `first` is a multiple of 8.
template <DType kType>
struct Block;

template <>
struct Block<DType::kF32> {
  static constexpr int kValues = kEight;
  static constexpr int kBytes = 32;
  __device__ static void Load(const std::byte* block, int /*first*/, float (&out)[kEight]) {
    for (int i = 0; i < kEight; ++i) out[i] = reinterpret_cast<const float*>(block)[i];
  }
};
template <>
struct Block<DType::kF16> {
  static constexpr int kValues = kEight;
  static constexpr int kBytes = 16;
  __device__ static void Load(const std::byte* block, int /*first*/, float (&out)[kEight]) {
    for (int i = 0; i < kEight; ++i) out[i] = ToFloat(reinterpret_cast<const Half*>(block)[i]);
  }
};
template <>
struct Block<DType::kBF16> {
  static constexpr int kValues = kEight;
  static constexpr int kBytes = 16;
  __device__ static void Load(const std::byte* block, int /*first*/, float (&out)[kEight]) {
    for (int i = 0; i < kEight; ++i) out[i] = ToFloat(reinterpret_cast<const Bf16*>(block)[i]);
  }
};

template <>
struct Block<DType::kQ4_0> {
  static constexpr int kValues = 32;
  static constexpr int kBytes = 18;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    int codes[kEight];
    TakeNibbles(block + 2, first, codes);
    Centred(LoadHalf(block), 8, codes, out);
  }
};
template <>
struct Block<DType::kQ4_1> {
  static constexpr int kValues = 32;
  static constexpr int kBytes = 20;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    int codes[kEight];
    TakeNibbles(block + 4, first, codes);
    Affine(LoadHalf(block), LoadHalf(block + 2), codes, out);
  }
};
template <>
struct Block<DType::kQ5_0> {
  static constexpr int kValues = 32;
  static constexpr int kBytes = 22;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    int codes[kEight];
    TakeNibbles(block + 6, first, codes);
    TakeFifthBits(block + 2, first, codes);
    Centred(LoadHalf(block), 16, codes, out);
  }
};
template <>
struct Block<DType::kQ5_1> {
  static constexpr int kValues = 32;
  static constexpr int kBytes = 24;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    int codes[kEight];
    TakeNibbles(block + 8, first, codes);
    TakeFifthBits(block + 4, first, codes);
    Affine(LoadHalf(block), LoadHalf(block + 2), codes, out);
  }
};
template <>
struct Block<DType::kQ8_0> {
  static constexpr int kValues = 32;
  static constexpr int kBytes = 34;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    const float d = LoadHalf(block);
    int codes[kEight];
    TakeBits(block + 2 + first, 0, 255, codes);
    for (int i = 0; i < kEight; ++i)
      out[i] = static_cast<float>(static_cast<std::int8_t>(codes[i])) * d;
  }
};

// Runs of 32 values with a scale and a min of their own; two runs share bytes.
__device__ __forceinline__ void LoadAffineRun(const std::byte* block, int run,
                                              const int (&codes)[kEight], float (&out)[kEight]) {
  const ScaleAndMin of = ScaleAndMin::Of(block + 4, run);
  const float scale = LoadHalf(block) * of.scale;
  const float min = LoadHalf(block + 2) * of.min;
  for (int i = 0; i < kEight; ++i) out[i] = scale * static_cast<float>(codes[i]) - min;
}
template <>
struct Block<DType::kQ4_K> {
  static constexpr int kValues = 256;
  static constexpr int kBytes = 144;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    const int run = first / 32;
    int codes[kEight];
    TakeBits(block + 16 + run / 2 * 32 + first % 32, run % 2 * 4, 15, codes);
    LoadAffineRun(block, run, codes, out);
  }
};
template <>
struct Block<DType::kQ5_K> {
  static constexpr int kValues = 256;
  static constexpr int kBytes = 176;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    const int run = first / 32;
    int codes[kEight];
    int fifth[kEight];
    TakeBits(block + 48 + run / 2 * 32 + first % 32, run % 2 * 4, 15, codes);
    TakeBits(block + 16 + first % 32, run, 1, fifth);
    for (int i = 0; i < kEight; ++i) codes[i] |= fifth[i] << 4;
    LoadAffineRun(block, run, codes, out);
  }
};
template <>
struct Block<DType::kQ6_K> {
  static constexpr int kValues = 256;
  static constexpr int kBytes = 210;
  __device__ static void Load(const std::byte* block, int first, float (&out)[kEight]) {
    const int half = first / 128;
    const int within = first % 128;
    int codes[kEight];
    int high[kEight];
    TakeBits(block + half * 64 + within % 64, within < 64 ? 0 : 4, 15, codes);
    TakeBits(block + 128 + half * 32 + within % 32, within / 32 * 2, 3, high);
    const auto scale = static_cast<std::int8_t>(block[192 + first / 16]);
    const float d = LoadHalf(block + 208) * static_cast<float>(scale);
    for (int i = 0; i < kEight; ++i) codes[i] |= high[i] << 4;
    Centred(d, 32, codes, out);
  }
};

// call(Block<type>()).
template <class Call>
void ForBlock(DType type, const Call& call) {
  switch (type) {
    case DType::kF32:
      return call(Block<DType::kF32>());
    case DType::kF16:
      return call(Block<DType::kF16>());
    case DType::kBF16:
      return call(Block<DType::kBF16>());
    case DType::kQ4_0:
      return call(Block<DType::kQ4_0>());
    case DType::kQ4_1:
      return call(Block<DType::kQ4_1>());
    case DType::kQ5_0:
      return call(Block<DType::kQ5_0>());
    case DType::kQ5_1:
      return call(Block<DType::kQ5_1>());
    case DType::kQ8_0:
      return call(Block<DType::kQ8_0>());
    case DType::kQ4_K:
      return call(Block<DType::kQ4_K>());
    case DType::kQ5_K:
      return call(Block<DType::kQ5_K>());
    case DType::kQ6_K:
      return call(Block<DType::kQ6_K>());
  }
  RequireFailed("a type of blocks that is none");
}

}  // namespace banyan::kernels::cuda
