#include "kernels/cpu/key_tiles.h"

#include <cstring>

#include "kernels/cpu/ops.h"

namespace banyan::kernels {
namespace {

constexpr int kLineHalves = 32;

// Vectors as GCC and Clang have them for every processor.
using Halves [[gnu::vector_size(16)]] = std::uint16_t;
using Pairs [[gnu::vector_size(16)]] = std::uint32_t;
using Fours [[gnu::vector_size(16)]] = std::uint64_t;

// The lower (kFrom 0) or upper (kFrom half the lanes) halves of a and b, lane by lane in turn.
template <int kFrom>
Halves Zip(Halves a, Halves b) {
  return __builtin_shufflevector(a, b, kFrom, kFrom + 8, kFrom + 1, kFrom + 9, kFrom + 2,
                                 kFrom + 10, kFrom + 3, kFrom + 11);
}
template <int kFrom>
Pairs Zip(Pairs a, Pairs b) {
  return __builtin_shufflevector(a, b, kFrom, kFrom + 4, kFrom + 1, kFrom + 5);
}

// out[16 d + i] = rows[i][d] for 8 keys and 8 dimensions.
void Transpose(const std::uint16_t* const* rows, int d, std::uint16_t* out) {
  Halves in[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&in[i], rows[i] + d, sizeof in[i]);
  Pairs pairs[8];  // two dimensions' pairs of keys: [keys 2 p, 2 p + 1][lower, upper dimensions]
  for (int p = 0; p < 4; ++p) {
    pairs[2 * p] = reinterpret_cast<Pairs>(Zip<0>(in[2 * p], in[2 * p + 1]));
    pairs[2 * p + 1] = reinterpret_cast<Pairs>(Zip<4>(in[2 * p], in[2 * p + 1]));
  }
  for (int upper = 0; upper < 2; ++upper) {
    const Fours low[] = {
        reinterpret_cast<Fours>(Zip<0>(pairs[upper], pairs[2 + upper])),
        reinterpret_cast<Fours>(Zip<2>(pairs[upper], pairs[2 + upper])),
    };
    const Fours high[] = {
        reinterpret_cast<Fours>(Zip<0>(pairs[4 + upper], pairs[6 + upper])),
        reinterpret_cast<Fours>(Zip<2>(pairs[4 + upper], pairs[6 + upper])),
    };
    for (int k = 0; k < 2; ++k) {
      const Fours even = __builtin_shufflevector(low[k], high[k], 0, 2);
      const Fours odd = __builtin_shufflevector(low[k], high[k], 1, 3);
      std::uint16_t* to = out + (4 * upper + 2 * k) * kTileKeys;
      std::memcpy(to, &even, sizeof even);
      std::memcpy(to + kTileKeys, &odd, sizeof odd);
    }
  }
}

}  // namespace

void TileKeys(const std::uint16_t* const* rows, const std::uint16_t* const* next_rows, int head_dim,
              std::uint16_t* tile) {
  for (int i = 0; i < kTileKeys; i += 8) {
    for (int d = 0; d < head_dim; d += 8) {
      if (d % kLineHalves == 0)
        for (int j = 0; j < 8; ++j) __builtin_prefetch(next_rows[i + j] + d, 0, 2);
      Transpose(rows + i, d, tile + d * kTileKeys + i);
    }
  }
}

void TileValues(const std::uint16_t* const* rows, const std::uint16_t* const* next_rows,
                int head_dim, std::uint16_t* tile) {
  for (int i = 0; i < kTileKeys; ++i, tile += head_dim) {
    for (int d = 0; d < head_dim; d += kLineHalves) __builtin_prefetch(next_rows[i] + d, 0, 2);
    std::memcpy(tile, rows[i], static_cast<std::size_t>(head_dim) * sizeof *tile);
  }
}

}  // namespace banyan::kernels
