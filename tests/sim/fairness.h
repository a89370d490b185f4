// Two works of their own, measured in tokens: what tenants get while all of them wait, and what a
// step computes before and after a pulse of requests.
#pragma once

#include <array>
#include <cstdint>

#include "tests/sim/stage.h"

namespace banyan::sim {

// Kind::kShares: every tenant has work from the first tick on. While two of them are in the queue,
// what they are charged differs by at most a quantum, the largest prompt, and the answers that run;
// and twice that when one was out of it before, with what it then owed or had to its credit.
class SharesCheck {
 public:
  explicit SharesCheck(Stage& stage) : stage_(stage) {}

  void OnCharge(const Client& client, std::int64_t tokens);
  void AfterNext();

 private:
  Stage& stage_;
  std::array<std::int64_t, kMostTenants> charged_{};
  struct Pair {
    bool waited = true;        // both, when it was last looked at
    bool interrupted = false;  // not always
    std::int64_t ahead = 0;    // by so much was the first when both began to wait
  };
  std::array<std::array<Pair, kMostTenants>, kMostTenants> pairs_{};
};

// Kind::kPulse: so many requests are there at any time, then many more at once. When those are gone
// a step computes as many tokens for the first time as before, or 95% of that.
class PulseCheck {
 public:
  explicit PulseCheck(Stage& stage) : stage_(stage) {}

  void AfterStep();
  void CheckEnd() const;

 private:
  Stage& stage_;
  std::int64_t before_ = 0;  // tokens in the window before the pulse
  std::int64_t after_ = 0;
  int after_ticks_ = 0;
  std::int64_t fresh_ = 0;
};

}  // namespace banyan::sim
