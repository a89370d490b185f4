#include "tests/sim/fairness.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "scheduler/request_state.h"

namespace banyan::sim {

void SharesCheck::OnCharge(const Client& client, std::int64_t tokens) {
  charged_[static_cast<std::size_t>(client.realm / stage_.scenario.salts)] += tokens;
}

void SharesCheck::AfterNext() {
  if (stage_.scenario.kind != Kind::kShares) return;
  std::array<bool, kMostTenants> waits{};
  std::int64_t largest = 0;
  for (const Client& client : stage_.clients) {
    largest = std::max(largest, client.prompt_tokens());
    if (!client.waits()) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    const auto tenant = static_cast<std::size_t>(client.realm / stage_.scenario.salts);
    if (status->state == scheduler::RequestState::kWaiting) waits[tenant] = true;
  }
  const std::int64_t bound =
      stage_.scenario.scheduler.quantum + largest +
      std::int64_t{stage_.scenario.scheduler.max_running} * stage_.scenario.output;
  for (std::size_t i = 0; i < kMostTenants; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      Pair& pair = pairs_[i][j];
      const bool waited = std::exchange(pair.waited, waits[i] && waits[j]);
      if (!pair.waited) {
        pair.interrupted = true;
        continue;
      }
      if (!waited) pair.ahead = charged_[i] - charged_[j];
      ++stage_.counts.compared_shares;
      Require(std::abs(charged_[i] - charged_[j] - pair.ahead) <=
                  (pair.interrupted ? 2 * bound : bound),
              "tenant %d had %d tokens, and tenant %d had %d", kNobody,
              static_cast<std::int64_t>(i), charged_[i], static_cast<std::int64_t>(j), charged_[j]);
    }
  }
}

void PulseCheck::AfterStep() {
  if (stage_.scenario.kind != Kind::kPulse) return;
  const scheduler::Stats stats = stage_.scheduler->stats();
  const std::int64_t fresh = stage_.model.computed() - stats.recomputed_tokens;
  const std::int64_t tokens = fresh - fresh_;
  fresh_ = fresh;
  const int tick = stage_.trace.tick();
  if (tick > kPulseTick - kPulseWindow && tick <= kPulseTick) before_ += tokens;
  if (tick <= kPulseTick || after_ticks_ == kPulseWindow) return;
  const bool is_over = after_ticks_ > 0 || stats.waiting + stats.running <= stage_.scenario.steady;
  if (!is_over) return;
  after_ += tokens;
  ++after_ticks_;
}

void PulseCheck::CheckEnd() const {
  if (stage_.scenario.kind != Kind::kPulse) return;
  Require(after_ticks_ == kPulseWindow, "the pulse was never over");
  Require(after_ * 100 >= before_ * 95, "before the pulse %d steps had %d tokens, after it %d",
          kNobody, kPulseWindow, before_, after_);
}

}  // namespace banyan::sim
