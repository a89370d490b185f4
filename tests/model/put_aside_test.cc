// Pages whose bytes leave the pool and come back to others.
#include "model/put_aside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "kernels/kv_shape.h"
#include "tests/model/sequence_run.h"

namespace banyan::model {
namespace {

constexpr std::int32_t kPageSize = 8;
constexpr int kTokens = 21;

std::unique_ptr<Model> LoadNull() {
  auto model = Model::Null({.page_size = kPageSize, .kv_memory = 1 << 12}, 0, 256);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// The logits of `tokens` from `first` on in the pages of `table`.
std::vector<float> Forward(Model& model, std::span<const TokenId> tokens, std::int64_t first,
                           const std::vector<PageId>& table, std::vector<PageMove> restores = {}) {
  Batch batch;
  batch.restores = std::move(restores);
  batch.sequences.push_back(
      {.tokens = tokens, .first_position = first, .pages = table, .logits = Logits::kReturnAll});
  StepResult result;
  EXPECT_TRUE(model.Forward(batch, result).ok());
  return result.sequences[0].logits;
}

void Save(Model& model, std::vector<PageMove> saves) {
  Batch batch;
  batch.saves = std::move(saves);
  StepResult result;
  EXPECT_TRUE(model.Forward(batch, result).ok());
}

void ExpectTheSameAfterwards(Model& model) {
  const std::vector<TokenId> text = RandomTokens(model, kTokens + 1, 1);
  const auto prompt = std::span(text).first(kTokens);
  const auto next = std::span(text).last(1);
  const std::vector<PageId> table = {2, 0, 1};
  Forward(model, prompt, 0, table);
  const std::vector<float> expected = Forward(model, next, kTokens, table);

  Forward(model, prompt, 0, table);
  Save(model, {{.page = 2, .place = 5}, {.page = 0, .place = 0}, {.page = 1, .place = 7}});
  Forward(model, RandomTokens(model, 24, 2), 0, {1, 2, 0});  // who takes the pages
  const std::vector<float> got =
      Forward(model, next, kTokens, {0, 3, 2},
              {{.page = 0, .place = 5}, {.page = 3, .place = 0}, {.page = 2, .place = 7}});
  EXPECT_EQ(got, expected);
}

TEST(PutAside, ComesBackBitForBitInEveryFormatThatKeepsAllSlotsInThePool) {
  for (const kernels::KvFormat format : kernels::kKvFormats) {
    if (kernels::SealsPages(format)) continue;
    SCOPED_TRACE(kernels::LayoutOf(format).name);
    ExpectTheSameAfterwards(*LoadTiny(
        {}, {.page_size = kPageSize, .kv_memory = std::int64_t{1} << 16, .kv_format = format}));
  }
}

TEST(PutAside, ComesBackToTheNullModel) { ExpectTheSameAfterwards(*LoadNull()); }

TEST(PutAside, APlaceMayBeWrittenAgainBeforeItIsRead) {
  const auto model = LoadNull();
  const std::vector<TokenId> text = RandomTokens(*model, 9, 1);
  const std::vector<float> expected = Forward(*model, text, 0, {0, 1});
  Forward(*model, RandomTokens(*model, 8, 3), 0, {2});
  Save(*model, {{.page = 2, .place = 0}});  // of one that was cancelled meanwhile
  Save(*model, {{.page = 0, .place = 0}});
  const std::vector<float> last(expected.end() - 256, expected.end());
  EXPECT_EQ(Forward(*model, std::span(text).last(1), 8, {3, 1}, {{.page = 3, .place = 0}}), last);
}

TEST(PutAside, HoldsTheMemoryOfWhatIsAsideAlone) {
  const auto model = LoadNull();
  const auto page = static_cast<std::int64_t>(model->page_bytes());
  const auto held_after = [&](PutAside& aside, std::vector<PageMove> saves,
                              std::vector<PageMove> restores) {
    Batch batch;
    batch.saves = std::move(saves);
    batch.restores = std::move(restores);
    aside.Move(batch, *model);
    return aside.bytes();
  };
  PutAside aside;
  EXPECT_EQ(held_after(aside, {{0, 4}, {1, 2}, {2, 0}}, {}), 3 * page);
  EXPECT_EQ(held_after(aside, {}, {{5, 2}}), 2 * page);
  EXPECT_EQ(held_after(aside, {{1, 2}}, {{5, 4}, {6, 0}}), page);
  EXPECT_EQ(held_after(aside, {{1, 2}}, {{5, 2}}), 0) << "in one step";

  EXPECT_EQ(held_after(aside, {{0, 4}, {1, 2}}, {}), 2 * page);
  Batch batch;
  batch.forgets = {4, 9};  // at 9 there never was anything
  aside.Move(batch, *model);
  EXPECT_EQ(aside.bytes(), page);
  batch.forgets = {2};
  batch.saves = {{.page = 3, .place = 2}};
  aside.Move(batch, *model);
  EXPECT_EQ(aside.bytes(), page) << "who comes next may have the same place";
}

TEST(PutAsideDeathTest, NothingComesFromWhereNothingIs) {
  const auto model = LoadNull();
  Save(*model, {{.page = 0, .place = 1}});
  const std::vector<TokenId> one = {1};
  EXPECT_DEATH(Forward(*model, one, 0, {0}, {{.page = 0, .place = 0}}), "CHECK failed");
  Forward(*model, one, 0, {0}, {{.page = 0, .place = 1}});
  EXPECT_DEATH(Forward(*model, one, 0, {0}, {{.page = 0, .place = 1}}), "CHECK failed") << "twice";
  EXPECT_DEATH(Save(*model, {{.page = model->pages(), .place = 0}}), "CHECK failed");
  EXPECT_DEATH(Save(*model, {{.page = 0, .place = -1}}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::model
