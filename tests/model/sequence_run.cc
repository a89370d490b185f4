#include "tests/model/sequence_run.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace banyan::model {

std::unique_ptr<Model> LoadFile(std::unique_ptr<File> file, const Options& options) {
  auto model = Model::Load(std::move(file), options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::unique_ptr<Model> LoadTiny(const TinyOptions& tiny, const Options& options) {
  return LoadFile(OpenBytes(TinyModel(tiny).Write()), options);
}

std::vector<TokenId> RandomTokens(const Model& model, int count, std::uint64_t seed) {
  Random random(seed);
  const auto bound = static_cast<std::uint32_t>(model.facts().vocabulary_size);
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(bound));
  return tokens;
}

bool AreSameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

SequenceRun::SequenceRun(Model& model, std::int64_t page_size, const Sequence& asked)
    : model_(model),
      page_size_(page_size),
      next_(asked),
      free_(static_cast<std::size_t>(model.pages())) {
  next_.logits = Logits::kReturnAll;
  std::iota(free_.begin(), free_.end(), 0);
}

std::vector<float> SequenceRun::Run(std::span<const TokenId> tokens) {
  Take(slots() + std::ssize(tokens));
  Batch batch;
  batch.compactions = std::exchange(compactions_, {});
  batch.sequences.push_back(next_);
  batch.sequences[0].tokens = tokens;
  batch.sequences[0].pages = table_;
  StepResult result;
  const absl::Status status = model_.Forward(batch, result);
  EXPECT_TRUE(status.ok()) << status;
  next_.first_position += std::ssize(tokens);
  return result.sequences[0].logits;
}

std::vector<float> SequenceRun::RunChunks(std::span<const TokenId> tokens, std::size_t chunk) {
  std::vector<float> logits;
  for (; !tokens.empty(); tokens = tokens.subspan(std::min(chunk, tokens.size()))) {
    const std::vector<float> some = Run(tokens.first(std::min(chunk, tokens.size())));
    logits.insert(logits.end(), some.begin(), some.end());
  }
  return logits;
}

void SequenceRun::Take(std::int64_t slots) {
  for (; (std::ssize(table_) + next_.gap.dropped) * page_size_ < slots; free_.pop_back())
    table_.push_back(free_.back());
}

}  // namespace banyan::model
