// Fetching the next tile of weights from memory while input rows pass over this one.
//
// Processors foresee what is read in order, so that one row needs no help and gets none: asked to,
// it costs a fifth. But while several rows pass over a tile the reading stops and so does the
// foresight, and it loses its way where a tile and its inputs leave the first-level cache. There
// the next tile is fetched a little with every few units, in order, so that memory is as busy as
// the products are.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/ops.h"

namespace banyan::kernels::avx512 {
namespace {

// The cache that the next tile is fetched to.
enum class Level : std::uint8_t { kNone, kFirst, kSecond };

struct Ahead {
  const std::byte* at = nullptr;  // of the next tile
  std::int32_t every = 0;         // one unit of this many fetches a unit
  std::int32_t wait = -1;         // units until the next that does
  Level level = Level::kNone;
};

// While `rows` rows pass over a tile, a part of them each time. Bytes are of a whole tile and of
// one row of input.
[[maybe_unused]] inline Ahead LookAhead(const std::byte* next, std::int64_t tile_bytes,
                                        std::int64_t input_bytes, std::int32_t rows,
                                        std::int32_t passes) {
  constexpr std::int64_t kFirstLevelBytes = 32 << 10;
  if (rows == 1) return {};
  const std::int64_t inputs = (rows + passes - 1) / passes * input_bytes;
  if (2 * tile_bytes + inputs > kFirstLevelBytes) return {next, passes, 0, Level::kSecond};
  if (passes == 1) return {};
  return {next, passes, 0, Level::kFirst};
}

// Called with every unit of kBytes.
template <int kBytes>
[[gnu::always_inline]] inline void FetchAhead(Ahead& ahead) {
  if (ahead.wait-- != 0) return;
  if (ahead.level == Level::kFirst) {
#pragma GCC unroll 16
    for (int i = 0; i < kBytes; i += 64) _mm_prefetch(ahead.at + i, _MM_HINT_T0);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kBytes; i += 64) _mm_prefetch(ahead.at + i, _MM_HINT_T1);
  }
  ahead.at += kBytes;
  ahead.wait = ahead.every - 1;
}

}  // namespace
}  // namespace banyan::kernels::avx512
