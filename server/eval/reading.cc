#include "server/eval/reading.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace banyan::server {
namespace {

std::unique_ptr<const scheduler::Policy> PolicyOf(const EvaluatedModel& subject) {
  if (!subject.policy) return nullptr;
  return MakePolicy(*subject.policy, subject.page_size, subject.max_batch_tokens);
}

}  // namespace

// What survives of a text is for a moment there beside what it is chosen from, and in pages of its
// own.
std::int64_t MostPages(const std::optional<scheduler::KvPolicy>& policy, std::int64_t tokens,
                       std::int64_t page_size) {
  using Type = scheduler::KvPolicy::Type;
  const std::int64_t pages = (tokens + page_size - 1) / page_size;
  const bool moves = policy && policy->type != Type::kStreaming && policy->type != Type::kQuest;
  return moves ? 2 * pages : pages;
}

Reading::Reading(const EvaluatedModel& subject, std::int64_t prompt_tokens)
    : model_(subject.model),
      page_size_(subject.page_size),
      prompt_tokens_(prompt_tokens),
      policy_(PolicyOf(subject)) {}

// What of its slots survives before its next token; nothing: all of them.
std::optional<kernels::KeepRule> Reading::Compaction() const {
  if (policy_ == nullptr) return std::nullopt;
  return policy_->compaction(prompt_tokens_, use_.tokens, slots_);
}

std::int64_t Reading::NextSlot() const {
  const std::optional<kernels::KeepRule> keep = Compaction();
  return keep ? keep->kept(slots_) : slots_;
}

// Of the next step.
std::int64_t Reading::MostTokens() const {
  if (policy_ == nullptr) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t exact = policy_->exact_tokens(prompt_tokens_) - use_.tokens;
  return exact > 0 ? exact : policy_->max_chunk(NextSlot());
}

// As many as the next token needs, once it is written to `slot`.
std::int64_t Reading::PagesAt(std::int64_t slot) const {
  const std::int64_t end = slot / page_size_ + 1;
  return policy_ == nullptr ? end : end - policy_->unseen(use_.tokens).pages();
}

// Gives up the pages that no token from the next one on sees.
void Reading::Drop() {
  if (policy_ == nullptr) return;
  const scheduler::Policy::Unseen unseen = policy_->unseen(use_.tokens);
  const std::int64_t more = unseen.pages() - gap_.dropped;
  if (more <= 0) return;
  gap_.front = unseen.front;
  const auto first = pages_.begin() + gap_.front;
  GiveUp({first, first + more});
  pages_.erase(first, first + more);
  gap_.dropped += more;
}

void Reading::GiveUp(std::span<const PageId> pages) {
  free_.insert(free_.end(), pages.begin(), pages.end());
}

void Reading::Hold(std::int64_t slots) {
  const std::int64_t end = (slots - 1) / page_size_ + 1;
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

void Reading::Count(std::int64_t slot, std::int64_t tokens) {
  for (const std::int64_t end = slot + tokens; slot < end; ++slot) {
    const std::int64_t pages = PagesAt(slot);
    ++use_.tokens;
    use_.peak_pages = std::max(use_.peak_pages, pages);
    use_.slots_over_time += pages * page_size_;
    use_.tokens_over_time += pages * page_size_ - (page_size_ - 1 - slot % page_size_);
  }
}

absl::Status Reading::Step(std::span<const TokenId> tokens, Logits wanted) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::optional<kernels::KeepRule> keep = Compaction();
  const std::int64_t first = NextSlot();
  Batch batch;
  Sequence& sequence = batch.sequences.emplace_back();
  sequence.tokens = tokens;
  sequence.first_position = use_.tokens;
  sequence.compacted = use_.tokens - first;
  sequence.logits = wanted;
  sequence.sampling.temperature = 0;
  sequence.wants_logprob = false;
  if (policy_ != nullptr) {
    sequence.window = policy_->window();
    if (use_.tokens >= policy_->exact_tokens(prompt_tokens_)) sequence.choice = policy_->choice();
    if (const auto observed = policy_->observed(prompt_tokens_, use_.tokens))
      sequence.observation = {.observer = 0, .from = observed->from, .by = observed->by};
  }
  // The first survivors go to pages of their own, as the others may be those of a cache.
  const bool moves = keep.has_value() && slots_ == use_.tokens;
  const std::vector<PageId> before =
      moves ? std::exchange(pages_, {}) : std::vector<PageId>(pages_);
  if (moves) {
    const auto both = static_cast<std::int64_t>(before.size()) + PagesAt(first);
    use_.peak_pages = std::max(use_.peak_pages, both);
  }
  Drop();
  Hold(first + count);
  Count(first, count);
  sequence.pages = pages_;
  sequence.gap = gap_;
  if (keep) {
    batch.compactions.push_back(
        {.observer = 0, .from = before, .slots = slots_, .to = pages_, .keep = *keep});
  }
  slots_ = first + count;
  if (moves) GiveUp(before);
  return model_.Forward(batch, result_);
}

absl::Status Reading::Read(std::span<const TokenId> tokens, Logits wanted) {
  logits_.clear();
  while (!tokens.empty()) {
    const auto most = static_cast<std::int64_t>(tokens.size());
    const auto run = tokens.first(static_cast<std::size_t>(std::min(most, MostTokens())));
    tokens = tokens.subspan(run.size());
    const bool is_last = tokens.empty();
    const Logits of_run = is_last || wanted == Logits::kReturnAll ? wanted : Logits::kNone;
    if (absl::Status status = Step(run, of_run); !status.ok()) return status;
    std::vector<float>& logits = result_.sequences.front().logits;
    if (logits_.empty())
      std::swap(logits_, logits);
    else
      logits_.insert(logits_.end(), logits.begin(), logits.end());
  }
  return absl::OkStatus();
}

}  // namespace banyan::server
