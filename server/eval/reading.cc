#include "server/eval/reading.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace banyan::server {

// The pages of the sinks.
std::int64_t Reading::FrontPages() const { return (window_.sinks + page_size_ - 1) / page_size_; }

// As many as the token at `position` needs, once it is written.
std::int64_t Reading::PagesAt(std::int64_t position) const {
  const std::int64_t end = position / page_size_ + 1;
  const std::int64_t dropped = window_.first_key(position) / page_size_ - FrontPages();
  return end - std::max<std::int64_t>(0, dropped);
}

// Gives up the pages that no token from the next one on sees.
void Reading::Drop() {
  if (!window_.cuts(use_.tokens)) return;
  gap_.front = FrontPages();
  // The token before the next one is kept in any case.
  const std::int64_t kept = std::min(window_.first_key(use_.tokens), use_.tokens - 1) / page_size_;
  const std::int64_t more = kept - gap_.front - gap_.dropped;
  if (more <= 0) return;
  const auto first = pages_.begin() + gap_.front;
  free_.insert(free_.end(), first, first + more);
  pages_.erase(first, first + more);
  gap_.dropped += more;
}

void Reading::Hold(std::int64_t tokens) {
  const std::int64_t end = (use_.tokens + tokens - 1) / page_size_ + 1;
  while (static_cast<std::int64_t>(pages_.size()) + gap_.dropped < end) {
    if (free_.empty()) {
      CHECK(unused_ < model_.pages());
      pages_.push_back(unused_++);
    } else {
      pages_.push_back(free_.back());
      free_.pop_back();
    }
  }
}

void Reading::Count(std::int64_t tokens) {
  for (std::int64_t i = 0; i < tokens; ++i) {
    const std::int64_t position = use_.tokens++;
    const std::int64_t pages = PagesAt(position);
    use_.peak_pages = std::max(use_.peak_pages, pages);
    use_.slots_over_time += pages * page_size_;
    use_.tokens_over_time += pages * page_size_ - (page_size_ - 1 - position % page_size_);
  }
}

absl::Status Reading::Read(std::span<const TokenId> tokens, Logits wanted) {
  Sequence sequence;
  sequence.tokens = tokens;
  sequence.first_position = use_.tokens;
  const auto count = static_cast<std::int64_t>(tokens.size());
  Drop();
  Hold(count);
  Count(count);
  sequence.pages = pages_;
  sequence.gap = gap_;
  sequence.window = window_;
  sequence.logits = wanted;
  sequence.sampling.temperature = 0;
  sequence.wants_logprob = false;
  Batch batch;
  batch.sequences.push_back(std::move(sequence));
  return model_.Forward(batch, result_);
}

}  // namespace banyan::server
