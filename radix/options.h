// How large the cache is.
#pragma once

#include <cstdint>

namespace banyan::radix {

// How many namespaces are kept in which nothing is cached and nobody works.
inline constexpr std::int32_t kMaxEmptyNamespaces = 1024;

struct Options {
  std::int32_t page_size = 16;  // tokens per page, kMinPageSize..kMaxPageSize
  std::int32_t pages = 0;       // pages in the pool, 1..kMaxPages
  std::int32_t max_empty_namespaces = kMaxEmptyNamespaces;  // at least 1
};

}  // namespace banyan::radix
