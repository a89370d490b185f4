#include "tests/cuda/model_rig.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "gtest/gtest.h"

namespace banyan::model::testing {
namespace {

// Of which pages the token at a position, and those behind it, see nothing.
PageGap GapAt(std::int64_t position, const kernels::KeyWindow& window) {
  const std::int64_t front = (window.sinks + kPageSize - 1) / kPageSize;
  const std::int64_t dropped = window.first_key(position) / kPageSize - front;
  return dropped > 0 ? PageGap{front, dropped} : PageGap{};
}

// The logits after each token of `tokens`, which follow `at` others of the sequence.
std::vector<float> LogitsOf(Model& model, std::span<const TokenId> tokens, std::int64_t at,
                            std::span<const PageId> pages, const kernels::KeyWindow& window) {
  const PageGap gap = GapAt(at, window);
  std::vector<PageId> kept(pages.begin(), pages.end());
  kept.erase(kept.begin() + gap.front, kept.begin() + gap.front + gap.dropped);
  Batch batch;
  batch.sequences.push_back({.tokens = tokens,
                             .first_position = at,
                             .pages = kept,
                             .gap = gap,
                             .window = window,
                             .logits = banyan::Logits::kReturnAll,
                             .sampling = {.temperature = 0}});
  StepResult result;
  const absl::Status status = model.Forward(batch, result);
  EXPECT_TRUE(status.ok()) << status;
  return result.sequences.at(0).logits;
}

}  // namespace

Options OptionsOf(Backend backend, kernels::KvFormat format) {
  return {.backend = backend,
          .page_size = kernels::SealsPages(format) ? 16 : kPageSize,
          .kv_memory = 4 << 20,
          .kv_format = format,
          .max_sequences = 4,
          .max_batch_tokens = 64};
}

std::unique_ptr<Model> Load(const TinyOptions& tiny, const Options& options) {
  auto model = Model::Load(OpenBytes(TinyModel(tiny).Write()), options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

std::vector<TokenId> Prompt(int vocabulary) {
  Random random(5);
  std::vector<TokenId> tokens;
  for (int i = 0; i < kTokens; ++i)
    tokens.push_back(static_cast<TokenId>(random.Below(static_cast<std::uint32_t>(vocabulary))));
  return tokens;
}

std::vector<PageId> Table(PageId first) {
  std::vector<PageId> pages(kTokens / kPageSize);
  std::iota(pages.rbegin(), pages.rend(), first);
  return pages;
}

std::vector<float> LogitsInChunks(Model& model, std::span<const TokenId> tokens, std::size_t chunk,
                                  std::span<const PageId> pages, const kernels::KeyWindow& window) {
  std::vector<float> all;
  for (std::size_t at = 0; at < tokens.size(); at += chunk) {
    const auto part = tokens.subspan(at, std::min(chunk, tokens.size() - at));
    std::ranges::copy(LogitsOf(model, part, static_cast<std::int64_t>(at), pages, window),
                      std::back_inserter(all));
  }
  return all;
}

void ExpectNearTheCpu(const TinyOptions& tiny, const Nearness& nearness) {
  const auto& [format, bound, decided, window] = nearness;
  const std::unique_ptr<Model> cpu = Load(tiny, OptionsOf(Backend::kCpu, format));
  const std::unique_ptr<Model> device = Load(tiny, OptionsOf(Backend::kCuda, format));
  ASSERT_TRUE(cpu != nullptr && device != nullptr);
  const std::vector<TokenId> tokens = Prompt(tiny.vocabulary);
  const std::vector<PageId> pages = Table(2);
  const std::vector<float> want = LogitsInChunks(*cpu, tokens, 17, pages, window);
  const std::vector<float> got = LogitsInChunks(*device, tokens, 17, pages, window);
  ASSERT_EQ(got.size(), want.size());
  const auto vocabulary = static_cast<std::size_t>(tiny.vocabulary);
  double worst = 0;
  int leads = 0;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const std::span<const float> expected(want.data() + row * vocabulary, vocabulary);
    const std::span<const float> logits(got.data() + row * vocabulary, vocabulary);
    for (std::size_t i = 0; i < vocabulary; ++i)
      worst = std::max(worst, std::fabs(static_cast<double>(logits[i]) - expected[i]));
    std::vector<float> sorted(expected.begin(), expected.end());
    std::ranges::partial_sort(sorted, sorted.begin() + 2, std::greater());
    if (sorted[0] - sorted[1] <= 2 * bound) continue;
    ++leads;
    EXPECT_EQ(std::ranges::max_element(logits) - logits.begin(),
              std::ranges::max_element(expected) - expected.begin())
        << "token " << row;
  }
  std::printf("worst %.4f, %d tokens decided\n", worst, leads);
  EXPECT_LT(worst, bound);
  EXPECT_GE(leads, decided);
}

}  // namespace banyan::model::testing
