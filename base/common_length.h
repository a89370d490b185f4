// The number of leading tokens that two runs have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/ids.h"

namespace banyan {

inline std::int64_t CommonLength(std::span<const TokenId> a, std::span<const TokenId> b) {
  // Compared at once before looking for the token that differs; any small number would do.
  constexpr std::size_t kStride = 64;
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at + kStride <= size &&
         std::memcmp(a.data() + at, b.data() + at, kStride * sizeof(TokenId)) == 0) {
    at += kStride;
  }
  while (at < size && a[at] == b[at]) ++at;
  return static_cast<std::int64_t>(at);
}

}  // namespace banyan
