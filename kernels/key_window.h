// Which keys a query sees where not all of them are kept: attention sinks and a recent window. Xiao
// et al., "Efficient streaming language models with attention sinks", 2024.
#pragma once

#include <cstdint>

namespace banyan::kernels {

// A query at position p < capacity() sees all keys 0 .. p, as without a window. Later ones see the
// sinks, keys 0 .. sinks - 1, and the last `window` keys, p - window + 1 .. p. Keys stay roped at
// their own positions: those of the window are met by the query as it is, sinks by the query roped
// at capacity() - 1, which is as far from them as it would be if nothing lay between.
struct KeyWindow {
  static constexpr std::int32_t kMaxSinks = 64;

  std::int64_t window = 0;  // >= 1; 0: all keys are seen, and there are no sinks
  std::int32_t sinks = 0;   // 0..kMaxSinks

  bool is_bounded() const { return window > 0; }
  std::int64_t capacity() const { return sinks + window; }
  bool cuts(std::int64_t position) const { return is_bounded() && position >= capacity(); }
  // The first key of the window of the query at `position`; 0 where it sees all.
  std::int64_t first_key(std::int64_t position) const {
    return cuts(position) ? position + 1 - window : 0;
  }
};

}  // namespace banyan::kernels
