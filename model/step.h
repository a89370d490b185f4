// A batch laid out as the rows of one step: what every architecture needs of it before it computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kernels/tensor.h"
#include "model/batch.h"

namespace banyan::model {

// What a batch may name.
struct StepLimits {
  std::int32_t max_rows = 0;
  std::int32_t vocabulary_size = 0;
  std::int32_t page_size = 0;
  std::int32_t pages = 0;
  bool windows = false;   // of keys
  bool compacts = false;  // then slots may be no positions, and pages may be chosen
  // Of models whose pages are sealed: how many open pages there are; else 0.
  std::int32_t open_pages = 0;
};

// A row whose logits are wanted.
struct LogitRow {
  std::int32_t row = 0;      // of the step
  std::size_t sequence = 0;  // index in the batch
  std::size_t token = 0;     // index in its sequence
};

// Its memory is reused from step to step. Spans stay valid until the next Lay, and as long as the
// batch.
class Step {
 public:
  // The rows of `batch`, one sequence after another. A batch that names more than `limits` allow
  // is a programmer's error, and ends in a CHECK.
  void Lay(const Batch& batch, const StepLimits& limits);

  std::int32_t rows() const { return static_cast<std::int32_t>(tokens_.size()); }
  std::span<const TokenId> tokens() const { return tokens_; }            // one per row
  std::span<const kernels::RowRun> runs() const { return runs_; }        // one per sequence
  std::span<const kernels::SlotCopy> copies() const { return copies_; }  // made before all else
  // Made behind them.
  std::span<const kernels::KvCompaction> compactions() const { return compactions_; }
  std::span<const LogitRow> logit_rows() const { return logit_rows_; }  // in order of rows

 private:
  void LayCopies(const Batch& batch, const StepLimits& limits);
  void Add(const Sequence& sequence, std::size_t index, const StepLimits& limits);

  std::vector<TokenId> tokens_;
  std::vector<kernels::RowRun> runs_;
  std::vector<kernels::SlotCopy> copies_;
  std::span<const kernels::KvCompaction> compactions_;  // of the batch
  std::vector<LogitRow> logit_rows_;
  std::vector<bool> open_taken_;  // by open page
};

}  // namespace banyan::model
