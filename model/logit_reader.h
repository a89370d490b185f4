// Reads off the logits of a step what its sequences ask for, in the host's memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/backend.h"
#include "model/answers.h"
#include "model/batch.h"
#include "model/step.h"

namespace banyan::model {

// `Network` as in transformer.h.
template <kernels::Backend B, class Network>
class LogitReader {
 public:
  // Rows of logits computed at once, in a model whose steps have at most `max_rows`: more come in
  // groups, so that the buffer stays small beside the weights.
  static std::int32_t RowsAtOnce(std::int32_t max_rows) {
    constexpr std::int32_t kRows = 64;
    return std::min(max_rows, kRows);
  }

  // `backend` and `network` outlive it; the network's Head takes `rows_at_once`.
  LogitReader(const B& backend, Network& network, std::int32_t vocabulary,
              std::int32_t rows_at_once)
      : backend_(backend), network_(network), rows_at_once_(rows_at_once), answers_(vocabulary) {}

  // Group by group: each reads the vocabulary's matrix once. As Answers::Give.
  absl::Status Read(const Batch& batch, std::span<const LogitRow> rows, StepResult& result) {
    while (!rows.empty()) {
      const auto group = rows.first(std::min(rows.size(), static_cast<std::size_t>(rows_at_once_)));
      rows = rows.subspan(group.size());
      rows_.clear();
      for (const LogitRow& wanted : group) rows_.push_back(wanted.row);
      absl::Status status = Give(batch, group, result);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Give(const Batch& batch, std::span<const LogitRow> group, StepResult& result) {
    if constexpr (kernels::HostSamplingBackend<B>) {
      const bool is_greedy = std::all_of(group.begin(), group.end(), [&](const LogitRow& row) {
        return batch.sequences[row.sequence].is_plainly_greedy();
      });
      if (is_greedy) return GiveGreatest(group, result);
    }
    return GiveLogits(batch, group, result);
  }

  absl::Status GiveGreatest(std::span<const LogitRow> group, StepResult& result) {
    greatest_.resize(group.size());
    network_.Greatest(rows_, greatest_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      absl::Status status = Answers::GiveGreatest(greatest_[i], group[i], result);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status GiveLogits(const Batch& batch, std::span<const LogitRow> group, StepResult& result) {
    const typename B::Activations& logits = network_.Head(rows_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      backend_.ReadRow(logits, static_cast<std::int32_t>(i), answers_.logits());
      absl::Status status = answers_.Give(batch, group[i], result);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const B& backend_;
  Network& network_;
  const std::int32_t rows_at_once_;
  Answers answers_;

  // Of the group that is read.
  std::vector<std::int32_t> rows_;
  std::vector<TokenId> greatest_;
};

}  // namespace banyan::model
