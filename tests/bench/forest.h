// Trees of known shapes and sizes, for benchmarks: what is in them is a function of a few numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/ids.h"
#include "radix/prefix_cache.h"

namespace banyan::bench {

// The tokens of text number `text`, below 50,000; different texts have nothing in common.
std::vector<TokenId> Text(std::uint64_t text, std::size_t tokens);

std::vector<TokenId> Joined(std::vector<TokenId> front, std::span<const TokenId> back);

// A forest is `families` shared beginnings, and paths that continue them. Counted in pages.
struct Shape {
  const char* name = "";
  std::int32_t families = 1;
  std::int32_t shared = 0;  // pages that all paths of a family begin with
  std::int32_t own = 1;     // pages that a path has alone
  std::int32_t turn = 1;    // they came to the tree by so many at a time
};
inline constexpr Shape kWide{"wide"};  // one root, all its children a page each
inline constexpr Shape kDeep{.name = "deep", .own = 256, .turn = 16};
inline constexpr Shape kMix{.name = "mix", .families = 16, .shared = 32, .own = 32, .turn = 8};
inline constexpr Shape kShapes[] = {kWide, kDeep, kMix};

class Forest {
 public:
  // About `pages` pages in the tree, and `spare` free ones. Least recently used comes in an order
  // that has nothing to do with where things lie in memory.
  Forest(const Shape& shape, std::int32_t page_size, std::int32_t pages, std::int32_t spare);

  radix::PrefixCache& cache() { return cache_; }
  NamespaceId name_space() const { return name_space_; }
  std::size_t paths() const { return paths_; }
  std::size_t PageTokens(std::int32_t pages) const;

  // The tokens of a path: its family's, then its own.
  std::vector<TokenId> Path(std::size_t path) const;
  std::vector<TokenId> Family(std::size_t path) const;  // what it shares
  // Tokens that nothing in the tree begins with or continues with.
  std::vector<TokenId> NewText(std::int32_t pages);

  // A view over all that the tree has of `tokens`.
  radix::View Open(std::span<const TokenId> tokens);
  // Computes `tokens`, a whole number of pages, as if by one request, and ends it.
  void Add(std::span<const TokenId> tokens);
  // Evicts pages until as many are free.
  void MakeFree(std::int64_t pages);

 private:
  const Shape shape_;
  radix::PrefixCache cache_;
  NamespaceId name_space_;
  std::size_t paths_ = 0;
  std::uint64_t texts_ = 0;  // that NewText gave
};

}  // namespace banyan::bench
