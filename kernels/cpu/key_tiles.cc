#include "kernels/cpu/key_tiles.h"

#include <cstring>

#include "kernels/cpu/ops.h"

namespace banyan::kernels {
namespace {

constexpr int kLineBytes = 64;
constexpr int kVectorBytes = 16;
constexpr int kDims = 8;  // that are transposed together

// Vectors as GCC and Clang have them for every processor.
using Bytes [[gnu::vector_size(kVectorBytes)]] = std::uint8_t;
using Halves [[gnu::vector_size(kVectorBytes)]] = std::uint16_t;

template <class Number>
struct VectorOf;
template <>
struct VectorOf<std::uint8_t> {
  using Type = Bytes;
};
template <>
struct VectorOf<std::uint16_t> {
  using Type = Halves;
};
template <class Number>
constexpr int kLanes = kVectorBytes / sizeof(Number);

// The lower (kFrom 0) or upper (kFrom half the lanes) halves of a and b, lane by lane in turn.
template <int kFrom>
Bytes Zip(Bytes a, Bytes b) {
  return __builtin_shufflevector(
      a, b, kFrom, kFrom + 16, kFrom + 1, kFrom + 17, kFrom + 2, kFrom + 18, kFrom + 3, kFrom + 19,
      kFrom + 4, kFrom + 20, kFrom + 5, kFrom + 21, kFrom + 6, kFrom + 22, kFrom + 7, kFrom + 23);
}
template <int kFrom>
Halves Zip(Halves a, Halves b) {
  return __builtin_shufflevector(a, b, kFrom, kFrom + 8, kFrom + 1, kFrom + 9, kFrom + 2,
                                 kFrom + 10, kFrom + 3, kFrom + 11);
}

// Dimension d + j of key i to number 16 j + i of out, for 8 dimensions of as many keys as a vector
// has lanes. Side by side they are one array [keys, 8]. To shuffle such an array like cards, its
// upper half into its lower one, turns the bits of an index left by one; after as many times as the
// index of a key has bits, the array is [8, keys].
template <class Number>
void Transpose(const std::byte* const* rows, int d, std::byte* out) {
  using V = typename VectorOf<Number>::Type;
  constexpr int kKeys = kLanes<Number>;
  constexpr int kRowBytes = kDims * sizeof(Number);
  V array[kDims];
  for (int i = 0; i < kKeys; ++i)
    std::memcpy(reinterpret_cast<std::byte*>(array) + i * kRowBytes, rows[i] + d * sizeof(Number),
                kRowBytes);
  for (int turn = 1; turn < kKeys; turn *= 2) {
    V shuffled[kDims];
    for (int i = 0; i < kDims / 2; ++i) {
      shuffled[2 * i] = Zip<0>(array[i], array[i + kDims / 2]);
      shuffled[2 * i + 1] = Zip<kKeys / 2>(array[i], array[i + kDims / 2]);
    }
    std::memcpy(array, shuffled, sizeof array);
  }
  for (int j = 0; j < kDims; ++j)
    std::memcpy(out + j * kTileKeys * sizeof(Number), &array[j], kVectorBytes);
}

template <class Number>
void TileKeysOf(const std::byte* const* rows, const std::byte* const* next_rows, int head_dim,
                std::byte* tile) {
  constexpr int kKeys = kLanes<Number>;
  for (int i = 0; i < kTileKeys; i += kKeys) {
    for (int d = 0; d < head_dim; d += kDims) {
      const auto at = d * static_cast<int>(sizeof(Number));
      if (at % kLineBytes == 0)
        for (int j = 0; j < kKeys; ++j) __builtin_prefetch(next_rows[i + j] + at, 0, 2);
      Transpose<Number>(rows + i, d, tile + (d * kTileKeys + i) * sizeof(Number));
    }
  }
}

}  // namespace

void TileKeys(const std::byte* const* rows, const std::byte* const* next_rows, int head_dim,
              int number_bytes, std::byte* tile) {
  if (number_bytes == 1) return TileKeysOf<std::uint8_t>(rows, next_rows, head_dim, tile);
  TileKeysOf<std::uint16_t>(rows, next_rows, head_dim, tile);
}

void TileValues(const std::byte* const* rows, const std::byte* const* next_rows, int head_dim,
                int number_bytes, std::byte* tile) {
  const int bytes = head_dim * number_bytes;
  for (int i = 0; i < kTileKeys; ++i, tile += bytes) {
    for (int at = 0; at < bytes; at += kLineBytes) __builtin_prefetch(next_rows[i] + at, 0, 2);
    std::memcpy(tile, rows[i], static_cast<std::size_t>(bytes));
  }
}

}  // namespace banyan::kernels
