// The shortest way to put something into a prefix cache: what a server does for one request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "radix/prefix_cache.h"

namespace banyan::radix {

using Tokens = std::vector<TokenId>;

// first, first + 1, ...: `count` tokens.
inline Tokens Count(TokenId first, std::size_t count) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

inline Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline std::span<const TokenId> Rest(const Tokens& tokens, std::int64_t from) {
  return std::span<const TokenId>(tokens).subspan(static_cast<std::size_t>(from));
}

// Gives `view` the pages that `tokens` tokens in all need, and makes its copy.
inline void GrowTo(PrefixCache& cache, View& view, std::size_t tokens) {
  const auto page = static_cast<std::size_t>(cache.options().page_size);
  const std::size_t needed = (tokens + page - 1) / page;
  const std::size_t has = view.page_table().size();
  if (needed > has) {
    ASSERT_TRUE(cache.Grow(view, static_cast<std::int32_t>(needed - has)));
  }
  if (cache.PendingCopy(view).has_value()) cache.CopyDone(view);
}

// A view over all of `tokens`: what is cached is shared, the rest is computed. Left open.
inline View Compute(PrefixCache& cache, NamespaceId name_space, const Tokens& tokens) {
  View view = cache.Open(name_space, tokens, static_cast<std::int64_t>(tokens.size()));
  GrowTo(cache, view, tokens.size());
  cache.Append(view, Rest(tokens, view.tokens()));
  return view;
}

// The same, and ended: leaves `tokens` in the cache, with a tail if they end inside a page.
inline void Cache(PrefixCache& cache, NamespaceId name_space, const Tokens& tokens) {
  View view = Compute(cache, name_space, tokens);
  cache.Close(view, PrefixCache::Tail::kAdopt);
}

inline std::int64_t Pages(const PrefixCache& cache, PageState state) {
  return cache.stats().pages[static_cast<int>(state)];
}

#define EXPECT_INVARIANTS(cache)                               \
  do {                                                         \
    const absl::Status invariants = (cache).CheckInvariants(); \
    EXPECT_TRUE(invariants.ok()) << invariants.ToString();     \
  } while (false)

}  // namespace banyan::radix
