// Every length around page borders, for page sizes from the smallest to the largest.
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tests/radix/model.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

class Sweep : public testing::TestWithParam<std::int32_t> {
 protected:
  // Lengths k * page - 1, k * page, k * page + 1.
  std::set<std::size_t> Lengths() const {
    std::set<std::size_t> lengths;
    for (const std::int32_t pages : {0, 1, 2, 3}) {
      for (const std::int32_t off : {-1, 0, 1}) {
        const std::int32_t length = pages * GetParam() + off;
        if (length >= 1) lengths.insert(static_cast<std::size_t>(length));
      }
    }
    return lengths;
  }
  // Serves `prompt` as a server would; returns how many tokens came from the cache.
  static std::int64_t Serve(ModelledCache& model, const Tokens& prompt) {
    ModelledCache::Work& work = model.Open(0, prompt, static_cast<std::int64_t>(prompt.size()) - 1);
    const std::int64_t cached = work.view.tokens();
    const auto page = static_cast<std::size_t>(GetParam());
    const std::size_t pages = (prompt.size() + page - 1) / page;
    EXPECT_TRUE(model.Grow(work, static_cast<std::int32_t>(pages - work.view.page_table().size())));
    model.MakeCopy(work);
    model.Append(work, Tokens(prompt.begin() + cached, prompt.end()),
                 PrefixCache::Exactness::kExact);
    model.CheckAll();
    model.Close(model.works().size() - 1, PrefixCache::Tail::kAdopt);
    model.CheckAll();
    return cached;
  }
};

TEST_P(Sweep, APromptAfterAnotherFindsExactlyTheirCommonPart) {
  for (const std::size_t first : Lengths()) {
    for (const std::size_t second : Lengths()) {
      for (const std::size_t common : Lengths()) {
        if (common > std::min(first, second)) continue;
        SCOPED_TRACE(std::to_string(first) + " then " + std::to_string(second) + ", common " +
                     std::to_string(common));
        ModelledCache model({.page_size = GetParam(), .pages = 16}, 1);
        const Tokens a = Count(0, first);
        const Tokens b = Count(0, common) + Count(5000, second - common);
        EXPECT_EQ(Serve(model, a), 0);
        EXPECT_EQ(Serve(model, b), std::min(common, second - 1));
        EXPECT_EQ(Serve(model, a), first - 1);
        EXPECT_EQ(Serve(model, b), second - 1);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(Sweep, AMatchMayEndAtEveryOffset) {
  const auto length = static_cast<std::size_t>(3 * GetParam() + GetParam() / 2);
  ModelledCache model({.page_size = GetParam(), .pages = 4096}, 1);
  const Tokens whole = Count(0, length);
  Serve(model, whole);
#ifdef NDEBUG
  constexpr std::size_t kStep = 1;
#else
  const std::size_t kStep = GetParam() > 16 ? 7 : 1;  // all is checked after each operation
#endif
  for (std::size_t common = 0; common < length; common += kStep) {
    const Tokens other = Count(0, common) + Tokens{static_cast<TokenId>(10000 + common), 1};
    ASSERT_EQ(Serve(model, other), common);
    if (HasFailure()) return;
  }
  EXPECT_EQ(Serve(model, whole), length - 1);
}

// What is matched is still being computed, token by token.
TEST_P(Sweep, AMatchWithAnOpenViewMayEndAtEveryOffset) {
  const auto page = static_cast<std::size_t>(GetParam());
  const std::size_t length = 2 * page + page / 2 + 1;
  const std::size_t step = page > 16 ? page / 4 + 1 : 1;  // of common parts that are tried
  ModelledCache model({.page_size = GetParam(), .pages = 4096}, 1);
  ModelledCache::Work& producer = model.Open(0, {}, 0);
  ASSERT_TRUE(model.Grow(producer, 4));
  for (std::size_t computed = 0; computed <= length; ++computed) {
    for (std::size_t common = computed % step; common <= computed; common += step) {
      const Tokens other = Count(0, common) + Tokens{static_cast<TokenId>(10000 + computed), 1};
      model.Open(0, other, static_cast<std::int64_t>(other.size()));
      ASSERT_EQ(model.works().back().view.tokens(), common) << "of " << computed;
      if (common % page != 0) {
        ASSERT_TRUE(model.Grow(model.works().back(), 1));
        model.MakeCopy(model.works().back());
        if (page <= 16 || common + step > computed) model.CheckAll();
      }
      model.Close(1, PrefixCache::Tail::kDiscard);
      if (HasFailure()) return;
    }
    model.Append(producer, {static_cast<TokenId>(computed)}, PrefixCache::Exactness::kExact);
  }
}

INSTANTIATE_TEST_SUITE_P(Radix, Sweep, testing::Values(1, 2, 3, 16, 256),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace banyan::radix
