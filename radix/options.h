// How large the cache is, and what it gives up first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace banyan::radix {

// How many namespaces are kept in which nothing is cached and nobody works.
inline constexpr std::int32_t kMaxEmptyNamespaces = 1024;

// Which leaf gives up its last page when a page is needed and none is free (eviction.h).
enum class Eviction : std::uint8_t {
  kLru,    // the least recently used one
  kFifo,   // the one that entered first
  kLfu,    // the one that was matched least often
  kReuse,  // the least recently used one, where each reuse counts as later use
};
inline constexpr std::array kEvictions = {Eviction::kLru, Eviction::kFifo, Eviction::kLfu,
                                          Eviction::kReuse};
std::string_view Name(Eviction eviction);  // "lru", "fifo", "lfu", "reuse"
std::optional<Eviction> ParseEviction(std::string_view name);

// What of a page can be given to whoever has the same tokens.
enum class Sharing : std::uint8_t {
  kSlots,  // its first ones, too: they are copied, and a leaf may end in a partial page
  kPages,  // nothing until it is whole: no copies, no partial pages in the tree
};

struct Options {
  std::int32_t page_size = 16;  // tokens per page, kMinPageSize..kMaxPageSize
  std::int32_t pages = 0;       // pages in the pool, 1..kMaxPages
  std::int32_t max_empty_namespaces = kMaxEmptyNamespaces;  // at least 1
  Eviction eviction = Eviction::kLru;
  Sharing sharing = Sharing::kSlots;

  // What a match of so many tokens can give.
  std::int64_t Shared(std::int64_t tokens) const {
    return sharing == Sharing::kPages ? tokens - tokens % page_size : tokens;
  }
};

}  // namespace banyan::radix
