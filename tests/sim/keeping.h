// What a policy with a budget keeps, naively: from the request alone, in the words of
// docs/scheduler.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/request.h"
#include "tests/sim/path.h"

namespace banyan::sim {

// Of one request, whose prompt is exact.
struct Keeping {
  std::int64_t prompt = 0;
  std::int64_t first_observed = 0;  // from this token on; INT64_MAX: none is
  bool once = false;                // behind the prompt, which is over the budget
  std::int64_t limit = 0;           // else whenever there are so many slots
  kernels::SlotImportance by = kernels::SlotImportance::kSum;
  kernels::KeepRule rule;
  kernels::PageChoice choice{};  // behind the prompt, where all is kept

  // Whether a view is compacted before its next token.
  bool IsDue(std::int64_t tokens, std::int64_t slots) const {
    if (once) return tokens == prompt && slots > rule.budget;
    return tokens >= prompt && slots >= limit;
  }
  bool is_ever_due() const { return !once || prompt > rule.budget; }
  // Slots when it is first due.
  std::int64_t before() const { return once ? prompt : std::max(prompt, limit); }
  // The most that it has from then on, when it knows so many tokens.
  std::int64_t after(std::int64_t known) const {
    return once ? rule.budget + std::max<std::int64_t>(known - prompt, 1) : limit;
  }
  // The leading tokens that may come from the cache.
  std::int64_t max_cached() const { return std::min(first_observed, prompt); }
  bool IsObserved(std::int64_t first) const {
    return first_observed < INT64_MAX && (!once || first < prompt);
  }
};

// None for a request that has no such policy. `policy` may be one that is refused.
std::optional<Keeping> KeepingOf(const scheduler::Request& request, std::int32_t page_size);
// Whether that policy could be, whatever pool and context.
bool IsSound(const scheduler::KvPolicy& policy, std::int32_t page_size);

// What an observer has noted of the slots of one sequence.
class Notes {
 public:
  // Nothing is noted of so many slots before the first row.
  void Begin(kernels::SlotImportance by, std::int64_t slots);
  // The row in the next slot has seen all slots up to its own.
  template <class SlotAt>
  void Add(SlotAt slot_at) {
    notes_.push_back(0);
    const std::int64_t own = slots() - 1;
    const std::uint64_t row = slot_at(own).path;
    for (std::int64_t i = 0; i <= own; ++i)
      Note(notes_[static_cast<std::size_t>(i)], Mix(row ^ Mix(slot_at(i).path)) % 1000);
  }
  // The slots that survive, in order. Nothing is known of the others any more.
  std::vector<std::int64_t> Keep(const kernels::KeepRule& rule);

  std::int64_t slots() const { return static_cast<std::int64_t>(notes_.size()); }

 private:
  void Note(std::uint64_t& note, std::uint64_t weight) const;
  std::uint64_t Importance(std::int64_t slot, const kernels::KeepRule& rule) const;

  kernels::SlotImportance by_ = kernels::SlotImportance::kSum;
  // By slot: a sum of weights; or a bit for each of the last 64 rows, the lowest for the last one.
  std::vector<std::uint64_t> notes_;
};

}  // namespace banyan::sim
