// Writes the batch of one step under its token budget. What goes first is the scheduler's choice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/batch.h"
#include "radix/prefix_cache.h"
#include "scheduler/job.h"

namespace banyan::scheduler {

class BatchBuilder {
 public:
  BatchBuilder(std::int32_t max_tokens, const radix::PrefixCache& cache)
      : max_tokens_(max_tokens), cache_(cache) {}

  // Empties the batch, keeping its memory.
  void Begin(std::uint64_t step);

  // How many of the job's known tokens its next chunk has, of at most `limit`: a chunk does not
  // mix tokens of a prompt whose scores were sent with those whose scores are wanted, nor exact
  // tokens with others; and a policy may bound it.
  static std::int64_t ChunkTokens(const Job& job, std::int64_t limit);

  // The job's next `tokens` tokens, for which its view has room; 1..tokens_left(), and the job is
  // not in the batch yet. Asks for the job's copy-on-write in its first step, or for what it has
  // put aside, for its compaction where its policy wants one, for the scores of a prompt that is to
  // be scored, and for a token where the known ones end.
  void Add(Job& job, std::int64_t tokens);

  // What is in these places is not wanted any more.
  void Forget(std::vector<std::int32_t> places) { batch_.forgets = std::move(places); }
  // The pages of the job's view go to the places of job.aside, before all else.
  void Save(const Job& job);

  std::int64_t tokens_left() const { return tokens_left_; }
  // At most so many more.
  void Limit(std::int64_t tokens) { tokens_left_ = std::min(tokens_left_, tokens); }
  const Batch& batch() const { return batch_; }
  // The job of batch().sequences[i] is jobs()[i].
  std::span<Job* const> jobs() const { return jobs_; }

 private:
  void Keep(const Job& job, Sequence& sequence);

  const std::int64_t max_tokens_;
  const radix::PrefixCache& cache_;

  Batch batch_;
  std::vector<Job*> jobs_;
  std::int64_t tokens_left_ = 0;
};

}  // namespace banyan::scheduler
