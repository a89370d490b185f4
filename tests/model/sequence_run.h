// Whole models that are run one sequence at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {

// Expect that they load.
std::unique_ptr<Model> LoadFile(std::unique_ptr<File> file, const Options& options);
std::unique_ptr<Model> LoadTiny(const TinyOptions& tiny, const Options& options);

std::vector<TokenId> RandomTokens(const Model& model, int count, std::uint64_t seed = 5);
bool AreSameBits(std::span<const float> a, std::span<const float> b);

// A sequence that takes pages from the end of the pool as it grows.
class SequenceRun {
 public:
  // `asked` is what its steps ask beside their tokens and pages.
  SequenceRun(Model& model, std::int64_t page_size, const Sequence& asked);
  virtual ~SequenceRun() = default;

  // One step with all of them, and their logits.
  virtual std::vector<float> Run(std::span<const TokenId> tokens);
  // Steps with so many of them each.
  std::vector<float> RunChunks(std::span<const TokenId> tokens, std::size_t chunk);

  std::int64_t position() const { return next_.first_position; }
  std::int64_t slots() const { return next_.first_slot(); }
  const std::vector<PageId>& table() const { return table_; }

 protected:
  void Take(std::int64_t slots);

  Model& model_;
  const std::int64_t page_size_;
  Sequence next_;                                   // but for tokens and pages
  std::vector<kernels::KvCompaction> compactions_;  // of the next step
  std::vector<PageId> free_;
  std::vector<PageId> table_;
};

}  // namespace banyan::model
