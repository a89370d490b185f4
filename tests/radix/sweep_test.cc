// Every length around page borders, for page sizes from the smallest to the largest, and every
// sequence of a few operations on a tiny tree.
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
  for (std::size_t common = 0; common < length; ++common) {
    const Tokens other = Count(0, common) + Tokens{static_cast<TokenId>(10000 + common), 1};
    ASSERT_EQ(Serve(model, other), common);
    if (HasFailure()) return;
  }
  EXPECT_EQ(Serve(model, whole), length - 1);
}

INSTANTIATE_TEST_SUITE_P(Radix, Sweep, testing::Values(1, 2, 3, 16, 256),
                         testing::PrintToStringParamName());

// All sequences of four operations out of these, on page size 2 and a pool of three pages: serve
// one of seven prompts, or hold one open from here on, or flush. All seven are watched.
class Exhaustive {
 public:
  static constexpr int kPrompts = 7;
  static constexpr int kOperations = 2 * kPrompts + 1;

  static const Tokens& Prompt(int index) {
    static const Tokens kPrompt[kPrompts] = {{1},       {2},       {1, 2},      {1, 1},
                                             {1, 2, 3}, {1, 2, 4}, {1, 2, 3, 4}};
    return kPrompt[index];
  }
  static void Do(ModelledCache& model, int operation) {
    if (operation == 2 * kPrompts) return model.Flush(0);
    const Tokens& prompt = Prompt(operation % kPrompts);
    ModelledCache::Work& work = model.Open(0, prompt, static_cast<std::int64_t>(prompt.size()) - 1);
    const std::size_t pages = (prompt.size() + 1) / 2 - work.view.page_table().size();
    if (model.Grow(work, static_cast<std::int32_t>(pages))) {
      model.MakeCopy(work);
      model.Append(work, Tokens(prompt.begin() + work.view.tokens(), prompt.end()),
                   PrefixCache::Exactness::kExact);
    }
    if (operation >= kPrompts && model.works().size() <= 2) return;
    model.Close(model.works().size() - 1, PrefixCache::Tail::kAdopt);
  }
};

TEST(TinyTree, EverySequenceOfOperationsKeepsTheInvariants) {
  constexpr int kLength = 4;
  int sequences = 1;
  for (int i = 0; i < kLength; ++i) sequences *= Exhaustive::kOperations;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    ModelledCache model({.page_size = 2, .pages = 3}, 1);
    for (int i = 0; i < Exhaustive::kPrompts; ++i) model.StartWatch(0, Exhaustive::Prompt(i));
    for (int rest = sequence, i = 0; i < kLength; ++i, rest /= Exhaustive::kOperations) {
      Exhaustive::Do(model, rest % Exhaustive::kOperations);
      model.CheckAll();
    }
    while (!model.works().empty()) model.Close(0, PrefixCache::Tail::kAdopt);
    model.CheckAll();
    ASSERT_EQ(model.cache().available_pages(), 3);
    ASSERT_FALSE(testing::Test::HasFailure()) << "sequence " << sequence;
  }
}

}  // namespace
}  // namespace banyan::radix
