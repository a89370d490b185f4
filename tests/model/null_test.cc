// The model without weights: a function of the path, read through the page table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

#include "model/model.h"

namespace banyan::model {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;

constexpr TokenId kEnd = 256;
constexpr std::int32_t kVocabulary = 300;
constexpr std::int32_t kPageSize = 4;

std::unique_ptr<Model> Make(std::int64_t pages = 16) {
  const Options options{.page_size = kPageSize, .kv_memory = pages * kPageSize * 8};
  auto model = Model::Null(options, kEnd, kVocabulary);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::vector<TokenId> Path(int size, TokenId first = 65) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(size));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// The token after `tokens`, the first of which is at `first`.
TokenId Next(Model& model, std::span<const TokenId> tokens, std::vector<PageId> pages,
             std::int64_t first = 0, std::vector<PageCopy> copies = {}) {
  Batch batch;
  batch.copies = std::move(copies);
  batch.sequences.push_back({.tokens = tokens,
                             .first_position = first,
                             .pages = pages,
                             .logits = Logits::kSampleLast,
                             .sampling = {}});
  StepResult result;
  EXPECT_TRUE(model.Forward(batch, result).ok());
  return result.sequences.at(0).token;
}

TEST(NullModel, SaysWhatItIs) {
  const auto model = Make(5);
  EXPECT_EQ(model->facts().name, "null");
  EXPECT_EQ(model->facts().architecture, "null");
  EXPECT_EQ(model->facts().vocabulary_size, kVocabulary);
  EXPECT_EQ(model->facts().kv_bytes_per_token, 8);
  EXPECT_EQ(model->page_bytes(), 8 * kPageSize);
  EXPECT_EQ(model->pages(), 5);
}

TEST(NullModel, MemoryPaysForWholePagesAndAtLeastOne) {
  const auto pages = [](std::int64_t bytes) {
    return (*Model::Null({.page_size = kPageSize, .kv_memory = bytes}, kEnd, kVocabulary))->pages();
  };
  EXPECT_EQ(pages(0), 1);
  EXPECT_EQ(pages(63), 1);
  EXPECT_EQ(pages(64), 2);
  EXPECT_EQ(pages(95), 2);
  EXPECT_EQ(pages(96), 3);
}

TEST(NullModel, ChunkingAndPlacementDoNotMatter) {
  const auto path = Path(14);
  const auto whole = Make();
  const TokenId want = Next(*whole, path, {0, 1, 2, 3});
  for (std::size_t cut = 1; cut < path.size(); ++cut) {
    const auto model = Make();
    const std::span<const TokenId> tokens = path;
    Next(*model, tokens.first(cut), {9, 2, 7, 4});
    EXPECT_EQ(Next(*model, tokens.subspan(cut), {9, 2, 7, 4}, static_cast<std::int64_t>(cut)),
              want);
  }
}

TEST(NullModel, EveryTokenOfThePathMatters) {
  const auto path = Path(9);
  std::map<TokenId, int> followers;
  for (std::size_t i = 0; i < path.size(); ++i) {
    auto other = path;
    other[i] = 200;
    ++followers[Next(*Make(), other, {0, 1, 2})];
  }
  EXPECT_GT(followers.size(), 5);
}

TEST(NullModel, ReadsThroughThePageTable) {
  const auto path = Path(9);
  const auto model = Make();
  const TokenId right = Next(*model, path, {0, 1, 2});
  Next(*model, Path(8, 100), {5, 6});
  const std::span<const TokenId> last(&path[8], 1);
  EXPECT_EQ(Next(*model, last, {0, 1, 2}, 8), right);
  EXPECT_NE(Next(*model, last, {0, 6, 2}, 8), right) << "a wrong page must change the token";
}

TEST(NullModel, WindowsAndDroppedPagesDoNotMatter) {
  const auto path = Path(30);
  std::vector<PageId> pages = {9, 3, 5, 0, 1, 2, 8, 7};
  const TokenId want = Next(*Make(), path, pages);
  const auto model = Make();
  Next(*model, std::span(path).first(22), pages);
  pages.erase(pages.begin() + 1, pages.begin() + 4);
  Batch batch;
  batch.sequences.push_back({.tokens = std::span(path).subspan(22),
                             .first_position = 22,
                             .pages = pages,
                             .gap = {.front = 1, .dropped = 3},
                             .window = {.window = 6, .sinks = 2},
                             .logits = Logits::kSampleLast});
  StepResult result;
  ASSERT_TRUE(model->Forward(batch, result).ok());
  EXPECT_EQ(result.sequences[0].token, want);
}

TEST(NullModel, CopiesComeFirst) {
  const auto path = Path(8);
  const auto model = Make();
  const TokenId right = Next(*model, path, {0, 1});
  // Page 3 gets the first two slots of page 1; positions 6 and 7 are computed again.
  const std::span<const TokenId> tail = std::span(path).subspan(6);
  EXPECT_EQ(Next(*model, tail, {0, 3}, 6, {{.from = 1, .to = 3, .slots = 2}}), right);
  EXPECT_NE(Next(*model, tail, {0, 3}, 6, {{.from = 0, .to = 3, .slots = 2}}), right);
}

TEST(NullModel, PagesCanBeReadAndWritten) {
  const auto path = Path(9);
  const auto model = Make();
  const TokenId right = Next(*model, path, {0, 1, 2});
  const std::span<const TokenId> last(&path[8], 1);
  std::vector<std::byte> bytes(model->page_bytes());
  model->ReadPage(1, bytes);
  model->WritePage(7, bytes);
  EXPECT_EQ(Next(*model, last, {0, 7, 2}, 8), right);
}

TEST(NullModel, DrawsPrintableAsciiAndSometimesTheEnd) {
  const auto model = Make(4096);
  std::map<TokenId, int> counts;
  std::vector<PageId> pages(4096);
  std::iota(pages.begin(), pages.end(), 0);
  TokenId token = 65;
  const int draws = 16000;
  for (int i = 0; i < draws; ++i) {
    token = Next(*model, {&token, 1}, pages, i);
    ++counts[token];
  }
  EXPECT_EQ(counts.size(), 96);
  EXPECT_NEAR(counts[kEnd], draws / 256, 30);
  counts.erase(kEnd);
  for (const auto& [id, count] : counts) {
    EXPECT_THAT(id, AllOf(Ge(32), Le(126)));
    EXPECT_NEAR(count, draws / 95, 60);
  }
}

TEST(NullModel, SamplesOnlyWhereAsked) {
  const auto model = Make();
  const auto path = Path(5);
  Batch batch{.step = 7};
  for (const PageId page : {0, 2, 4}) {
    batch.sequences.push_back({.tokens = path, .pages = {}});
    batch.sequences.back().logits = page == 0   ? Logits::kNone
                                    : page == 2 ? Logits::kSampleLast
                                                : Logits::kReturnAll;
  }
  const std::vector<std::vector<PageId>> tables = {{0, 1}, {2, 3}, {4, 5}};
  for (std::size_t i = 0; i < 3; ++i) batch.sequences[i].pages = tables[i];
  StepResult result;
  ASSERT_TRUE(model->Forward(batch, result).ok());
  EXPECT_EQ(result.step, 7);
  EXPECT_FALSE(result.failed);
  EXPECT_EQ(result.sequences[0].token, -1);
  EXPECT_GE(result.sequences[1].token, 32);
  EXPECT_EQ(result.sequences[2].token, result.sequences[1].token);
  EXPECT_TRUE(result.sequences[1].logits.empty());
  ASSERT_EQ(result.sequences[2].logits.size(), path.size() * kVocabulary);
  const float* last = result.sequences[2].logits.data() + 4 * kVocabulary;
  EXPECT_EQ(std::max_element(last, last + kVocabulary) - last, result.sequences[2].token);
}

TEST(NullModel, HonoursAMask) {
  const auto model = Make();
  const auto path = Path(3);
  std::vector<std::uint64_t> mask((kVocabulary + 63) / 64);
  const std::vector<PageId> pages = {0};
  Batch batch;
  batch.sequences.push_back({.tokens = path,
                             .pages = pages,
                             .logits = Logits::kSampleLast,
                             .sampling = {},
                             .token_mask = mask});
  StepResult result;
  EXPECT_EQ(model->Forward(batch, result).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(result.failed);
  mask[4] = 2;  // token 257
  ASSERT_TRUE(model->Forward(batch, result).ok());
  EXPECT_EQ(result.sequences[0].token, 257);
}

TEST(NullModel, TakesTheNextTokenThatIsAllowed) {
  const auto model = Make();
  const auto path = Path(3);
  const std::vector<PageId> pages = {0};
  Batch batch;
  Sequence& sequence = batch.sequences.emplace_back();
  sequence.tokens = path;
  sequence.pages = pages;
  sequence.logits = Logits::kSampleLast;
  StepResult result;
  ASSERT_TRUE(model->Forward(batch, result).ok());
  const TokenId own = result.sequences[0].token;
  EXPECT_EQ(result.sequences[0].log_probability, 0);

  std::vector<TokenId> forbidden = {own, own + 1, own + 3};
  sequence.forbidden = forbidden;
  ASSERT_TRUE(model->Forward(batch, result).ok());
  EXPECT_EQ(result.sequences[0].token, own + 2);
  EXPECT_EQ(result.sequences[0].log_probability, -9999);

  for (TokenId token = 0; token < kVocabulary; ++token) {
    if (token != 5) forbidden.push_back(token);
  }
  sequence.forbidden = forbidden;
  ASSERT_TRUE(model->Forward(batch, result).ok());
  EXPECT_EQ(result.sequences[0].token, 5) << "from the beginning again";
  forbidden.push_back(5);
  sequence.forbidden = forbidden;
  EXPECT_EQ(model->Forward(batch, result).code(), absl::StatusCode::kInvalidArgument);
}

// All of the probability is the next token's; the rest are equals, in order of ids.
TEST(NullModel, ScoresTokens) {
  const auto path = Path(6);
  const std::vector<PageId> pages = {0, 1};
  std::vector<TokenId> own;
  for (std::size_t i = 1; i <= path.size(); ++i) {
    own.push_back(Next(*Make(), std::span(path).first(i), pages));
  }
  std::vector<TokenId> scored(own.begin(), own.end() - 1);
  scored[2] = own[2] + 1;
  const auto model = Make();
  Batch batch;
  batch.sequences.push_back({.tokens = path,
                             .pages = pages,
                             .logits = Logits::kSampleLast,
                             .top_logprobs = 3,
                             .scored = scored});
  StepResult result;
  ASSERT_TRUE(model->Forward(batch, result).ok());
  const SequenceResult& out = result.sequences[0];
  ASSERT_EQ(out.scores.size(), 5);
  const auto expect_top = [](const std::vector<TokenLogprob>& top, TokenId first) {
    ASSERT_EQ(top.size(), 3);
    EXPECT_EQ(top[0].token, first);
    EXPECT_EQ(top[0].log_probability, 0);
    for (const TokenId token : {0, 1}) {
      EXPECT_EQ(top[static_cast<std::size_t>(token) + 1].token, token);
      EXPECT_EQ(top[static_cast<std::size_t>(token) + 1].log_probability, -9999);
    }
  };
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(out.scores[i].token, scored[i]);
    EXPECT_EQ(out.scores[i].log_probability, i == 2 ? -9999 : 0);
    expect_top(out.scores[i].top, own[i]);
  }
  EXPECT_EQ(out.token, own[5]);
  expect_top(out.top, own[5]);
}

TEST(NullModel, OptionsOutOfRangeAreRefused) {
  const auto code = [](const Options& options, TokenId end = kEnd,
                       std::int32_t size = kVocabulary) {
    return Model::Null(options, end, size).status().code();
  };
  const auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({.threads = 0}), kBad);
  EXPECT_EQ(code({.threads = 256}), absl::StatusCode::kOk);
  EXPECT_EQ(code({.threads = 257}), kBad);
  EXPECT_EQ(code({.page_size = 0}), kBad);
  EXPECT_EQ(code({.page_size = 1}), absl::StatusCode::kOk);
  EXPECT_EQ(code({.page_size = 1024}), absl::StatusCode::kOk);
  EXPECT_EQ(code({.page_size = 1025}), kBad);
  EXPECT_EQ(code({.kv_memory = -1}), kBad);
  EXPECT_EQ(code({.max_batch_tokens = 0}), kBad);
  EXPECT_EQ(code({.max_batch_tokens = 65536}), absl::StatusCode::kOk);
  EXPECT_EQ(code({.max_batch_tokens = 65537}), kBad);
  EXPECT_EQ(code({}, -1), kBad);
  EXPECT_EQ(code({}, kVocabulary), kBad);
  EXPECT_EQ(code({}, 5, 126), kBad);
  EXPECT_EQ(code({}, 5, 127), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace banyan::model
