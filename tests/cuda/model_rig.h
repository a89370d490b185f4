// Models on the CPU and on a device, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model::testing {

inline constexpr int kTokens = 40;  // of a prompt
inline constexpr std::int32_t kPageSize = 8;

// Sealed pages are of 16 tokens, all others of kPageSize.
Options OptionsOf(Backend backend, kernels::KvFormat format = kernels::KvFormat::kF16);
std::unique_ptr<Model> Load(const TinyOptions& tiny, const Options& options);
std::vector<TokenId> Prompt(int vocabulary);
// A prompt's pages, from number `first` on.
std::vector<PageId> Table(PageId first);
// The logits after each of the tokens, by steps of `chunk`. Under a window the pages of which a
// step sees nothing are not in its table; those are of kPageSize.
std::vector<float> LogitsInChunks(Model& model, std::span<const TokenId> tokens, std::size_t chunk,
                                  std::span<const PageId> pages,
                                  const kernels::KeyWindow& window = {});

// How a prompt's logits are compared.
struct Nearness {
  kernels::KvFormat format = kernels::KvFormat::kF16;
  double bound = 0.1;  // of a logit; they deviate by 1. Coarse pages round to another side, too.
  int decided = 10;
  kernels::KeyWindow window{};
};
// Both load `tiny` and read a prompt: the greatest difference of a logit is below the bound, and
// the device's token is the CPU's wherever that one leads by more than twice this, which is so
// `decided` times or more.
void ExpectNearTheCpu(const TinyOptions& tiny, const Nearness& nearness);

}  // namespace banyan::model::testing
