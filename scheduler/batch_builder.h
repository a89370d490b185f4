// Writes the batch of one step under its token budget. What goes first is the scheduler's choice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/batch.h"
#include "radix/prefix_cache.h"
#include "scheduler/job.h"
#include "scheduler/page_budget.h"

namespace banyan::scheduler {

class BatchBuilder {
 public:
  BatchBuilder(std::int32_t max_tokens, const radix::PrefixCache& cache, PageBudget& pages)
      : max_tokens_(max_tokens), cache_(cache), pages_(pages) {}

  // Empties the batch, keeping its memory.
  void Begin(std::uint64_t step);

  // The job's next tokens: the last one sampled when it decodes, as much of its prompt as the
  // budget leaves when it prefills. tokens_left() > 0, and the job is not in the batch yet. Takes
  // the pages that they need, asks for the job's copy-on-write in its first step, for the scores of
  // a prompt that is to be scored, and for a token where the prompt ends.
  void Add(Job& job);

  std::int32_t tokens_left() const { return tokens_left_; }
  const Batch& batch() const { return batch_; }
  // The job of batch().sequences[i] is jobs()[i].
  std::span<Job* const> jobs() const { return jobs_; }

 private:
  const std::int32_t max_tokens_;
  const radix::PrefixCache& cache_;
  PageBudget& pages_;

  Batch batch_;
  std::vector<Job*> jobs_;
  std::int32_t tokens_left_ = 0;
};

}  // namespace banyan::scheduler
