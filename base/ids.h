// The small numbers that cross room borders.
#pragma once

#include <cstdint>

namespace banyan {

using TokenId = std::int32_t;  // 0 <= id < vocabulary size
using PageId = std::int32_t;   // 0 <= id < pages in the pool

inline constexpr PageId kNoPage = -1;

// One per submitted request, never reused while the process runs.
enum class RequestId : std::uint64_t {};

// A root of the tree: requests of different namespaces never share pages. Never given again once
// its namespace was forgotten.
enum class NamespaceId : std::uint64_t {};

// Copy-on-write: the KV of the first `slots` tokens of page `from` goes to page `to`.
struct PageCopy {
  PageId from = kNoPage;
  PageId to = kNoPage;
  std::int32_t slots = 0;
};

}  // namespace banyan
