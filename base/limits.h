// Bounds that more than one room must agree on. Bounds of one room live in that room.
// Each is tested at the bound, one below and one above.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan {

inline constexpr std::int32_t kMinPageSize = 1;
inline constexpr std::int32_t kMaxPageSize = 1024;        // tokens per page
inline constexpr std::int32_t kMaxPages = 1 << 26;        // pages in one pool
inline constexpr std::int32_t kMaxThreads = 256;          // compute threads
inline constexpr std::int32_t kMaxBatchTokens = 1 << 16;  // in one step
inline constexpr std::size_t kMaxStopStrings = 16;
inline constexpr std::size_t kMaxStopStringBytes = 1024;

}  // namespace banyan
