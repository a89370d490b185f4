#include "tests/bench/forest.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace banyan::bench {
namespace {

constexpr std::uint64_t kFamilies = std::uint64_t{1} << 40;  // texts of their own
constexpr std::uint64_t kNew = std::uint64_t{1} << 41;

std::size_t PathsOf(const Shape& shape, std::int32_t pages) {
  const std::int32_t own = std::max(pages - shape.families * shape.shared, shape.own);
  return static_cast<std::size_t>(own / shape.own);
}

}  // namespace

std::vector<TokenId> Text(std::uint64_t text, std::size_t tokens) {
  std::vector<TokenId> made(tokens);
  std::uint64_t state = text * 0xD1342543DE82EF95;
  for (TokenId& token : made) {  // splitmix64
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    token = static_cast<TokenId>((z ^ (z >> 31)) % 50'000);
  }
  return made;
}

std::vector<TokenId> Joined(std::vector<TokenId> front, std::span<const TokenId> back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

Forest::Forest(const Shape& shape, std::int32_t page_size, std::int32_t pages, std::int32_t spare)
    : shape_(shape),
      cache_({.page_size = page_size, .pages = pages + spare}),
      name_space_(cache_.OpenNamespace("")),
      paths_(PathsOf(shape, pages)) {
  std::vector<std::size_t> order(paths_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (const std::size_t path : order) Add(Path(path));
  std::shuffle(order.begin(), order.end(), std::mt19937_64(2));
  for (const std::size_t path : order) Open(Path(path));
}

std::size_t Forest::PageTokens(std::int32_t pages) const {
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(cache_.options().page_size);
}

std::vector<TokenId> Forest::Family(std::size_t path) const {
  return Text(kFamilies + path % static_cast<std::size_t>(shape_.families),
              PageTokens(shape_.shared));
}

std::vector<TokenId> Forest::Path(std::size_t path) const {
  return Joined(Family(path), Text(path, PageTokens(shape_.own)));
}

std::vector<TokenId> Forest::NewText(std::int32_t pages) {
  return Text(kNew + texts_++, PageTokens(pages));
}

radix::View Forest::Open(std::span<const TokenId> tokens) {
  return cache_.Open(name_space_, tokens,
                     static_cast<std::int64_t>(tokens.size() - tokens.size() % PageTokens(1)));
}

void Forest::Add(std::span<const TokenId> tokens) {
  radix::View view = Open(tokens);
  const std::size_t turn = PageTokens(shape_.turn);
  for (auto at = static_cast<std::size_t>(view.tokens()); at < tokens.size();) {
    const std::size_t end = std::min(tokens.size(), at - at % turn + turn);
    const auto pages = static_cast<std::int32_t>(end / PageTokens(1));
    CHECK(cache_.Grow(view, pages - static_cast<std::int32_t>(view.page_table().size())));
    if (cache_.PendingCopy(view)) cache_.CopyDone(view);  // texts may share a page's first tokens
    cache_.Append(view, tokens.subspan(at, end - at));
    at = end;
  }
  cache_.Close(view, radix::PrefixCache::Tail::kDiscard);
}

void Forest::MakeFree(std::int64_t pages) {
  radix::View view = Open({});
  CHECK(cache_.Grow(view, static_cast<std::int32_t>(pages)));
}

}  // namespace banyan::bench
