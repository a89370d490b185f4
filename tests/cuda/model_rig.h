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

Options OptionsOf(Backend backend, kernels::KvFormat format = kernels::KvFormat::kF16);
std::unique_ptr<Model> Load(const TinyOptions& tiny, const Options& options);
std::vector<TokenId> Prompt(int vocabulary);
// A prompt's pages, from number `first` on.
std::vector<PageId> Table(PageId first);
// The logits after each of the tokens, by steps of `chunk`.
std::vector<float> LogitsInChunks(Model& model, std::span<const TokenId> tokens, std::size_t chunk,
                                  std::span<const PageId> pages);

// Both load `tiny` and read a prompt: the greatest difference of a logit is below `bound`, and the
// device's token is the CPU's wherever that one leads by more than twice this, which is so
// `decided` times or more.
void ExpectNearTheCpu(const TinyOptions& tiny, kernels::KvFormat format, double bound, int decided);

}  // namespace banyan::model::testing
