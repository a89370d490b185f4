#include "server/eval/reading.h"

#include <utility>

#include "base/check.h"

namespace banyan::server {

void Reading::Hold(std::int64_t tokens) {
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (use_.tokens == use_.pages * page_size_) {
      CHECK(use_.pages < model_.pages());
      pages_.push_back(static_cast<PageId>(use_.pages++));
    }
    ++use_.tokens;
    use_.slots_over_time += use_.pages * page_size_;
    use_.tokens_over_time += use_.tokens;
  }
}

absl::Status Reading::Read(std::span<const TokenId> tokens, Logits wanted) {
  Sequence sequence;
  sequence.tokens = tokens;
  sequence.first_position = use_.tokens;
  Hold(static_cast<std::int64_t>(tokens.size()));
  sequence.pages = pages_;
  sequence.logits = wanted;
  sequence.sampling.temperature = 0;
  sequence.wants_logprob = false;
  Batch batch;
  batch.sequences.push_back(std::move(sequence));
  return model_.Forward(batch, result_);
}

}  // namespace banyan::server
