// Whether what the scheduler and the tree say of themselves is what the simulator counted, and
// whether pages and requests add up.
#pragma once

#include <array>
#include <cstdint>

#include "tests/sim/stage.h"

namespace banyan::sim {

class AccountCheck {
 public:
  explicit AccountCheck(Stage& stage) : stage_(stage) {}

  // After every call into the scheduler.
  void Check(bool in_flight);
  // What it says of itself at its end.
  void CheckUsage(const Client& client) const;

  // A step that succeeded computed the tokens from `first` to before `end` for it.
  void OnComputed(Client& client, std::int64_t first, std::int64_t end);
  void OnStep(bool failed);
  void OnFailed(std::int64_t tokens) { failed_tokens_ += tokens; }  // of a request, in a step
  void OnPreempted() { ++preemptions_; }
  void OnLeftQueue() { ++left_; }
  void OnEvicted() { ++evicted_; }

 private:
  void CheckStates(bool in_flight);
  void CheckStats() const;
  void CheckPages() const;

  Stage& stage_;
  std::int64_t waiting_ = 0;
  std::int64_t following_ = 0;
  std::int64_t running_ = 0;
  std::int64_t computed_prompt_ = 0;
  std::int64_t recomputed_ = 0;
  std::int64_t decoded_ = 0;
  std::int64_t failed_tokens_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t failed_steps_ = 0;
  std::int64_t preemptions_ = 0;
  std::array<std::int64_t, scheduler::kKvPolicyTypes> dropped_{};  // tokens, by type of policy
  std::int64_t evicted_ = 0;
  std::size_t left_ = 0;  // not yet taken
};

}  // namespace banyan::sim
