// As LogitReader where the backend samples: logits stay where they are, and a step waits once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/backend.h"
#include "model/batch.h"
#include "model/device_answers.h"
#include "model/logit_reader.h"
#include "model/step.h"

namespace banyan::model {

// `Network` as in transformer.h.
template <kernels::SamplingBackend B, class Network>
class SampledReader {
 public:
  static std::int32_t RowsAtOnce(std::int32_t max_rows) {
    return LogitReader<B, Network>::RowsAtOnce(max_rows);
  }

  SampledReader(B& backend, Network& network, std::int32_t vocabulary, std::int32_t rows_at_once)
      : backend_(backend),
        network_(network),
        rows_at_once_(rows_at_once),
        answers_(vocabulary),
        on_host_(backend, network, vocabulary, rows_at_once) {}

  absl::Status Read(const Batch& batch, std::span<const LogitRow> rows, StepResult& result) {
    // Whose logits are returned is answered by them, so that both are of one arithmetic.
    const bool returns = std::ranges::any_of(batch.sequences, [](const Sequence& sequence) {
      return sequence.logits == Logits::kReturnAll;
    });
    if (returns) return on_host_.Read(batch, rows, result);
    if (rows.empty()) return absl::OkStatus();
    answers_.BeginStep();
    for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(rows_at_once_)) {
      const auto group =
          rows.subspan(at, std::min(rows.size() - at, static_cast<std::size_t>(rows_at_once_)));
      rows_.clear();
      for (const LogitRow& wanted : group) rows_.push_back(wanted.row);
      const typename B::Activations& logits = network_.Head(rows_);
      backend_.Sample(logits, answers_.Ask(batch, group));
    }
    return answers_.Give(batch, rows, backend_.TakeSampled(answers_.draws(), answers_.scores()),
                         result);
  }

 private:
  B& backend_;
  Network& network_;
  const std::int32_t rows_at_once_;
  DeviceAnswers answers_;
  LogitReader<B, Network> on_host_;
  std::vector<std::int32_t> rows_;  // of the group that is read
};

// Who reads what steps on a backend are asked for.
template <kernels::Backend B, class Network>
struct ReaderOf {
  using Type = LogitReader<B, Network>;
};
template <kernels::SamplingBackend B, class Network>
struct ReaderOf<B, Network> {
  using Type = SampledReader<B, Network>;
};

}  // namespace banyan::model
