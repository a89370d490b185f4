// Whether those come first who should: priorities with ageing, passes, cached length, shares of a
// step, who is preempted and why. All by the simulator's own counts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/batch.h"
#include "tests/sim/stage.h"

namespace banyan::sim {

class OrderCheck {
 public:
  explicit OrderCheck(Stage& stage) : stage_(stage) {}

  void BeforeNext();
  // Called by the observer, in Next.
  void OnPreempted(const Client& client);
  void OnAdmitted(Client& client);
  // `admitted`: for the first time or again.
  void AfterNext(const Batch& batch, const std::vector<Client*>& admitted);
  // After every call.
  void CheckPriorities();
  int preempted() const { return preempted_; }  // in the latest Next

 private:
  std::int32_t Aged(const Client& client) const;
  std::int64_t Cached(const Client& client);
  std::vector<Client*> Queue();
  void Pass(Client& admitted, const std::vector<Client*>& queue);
  void FindResumed();
  void CheckNewcomers(const std::vector<Client*>& admitted);
  void CheckPrefills(const Batch& batch);
  void CheckHeadroom();
  void CheckNotIdle(const Batch& batch, const std::vector<Client*>& admitted);
  std::int64_t Headroom(const Client& client) const;
  bool WantsPage(const Client& client) const;
  std::int64_t Pages(std::int64_t slots) const;

  Stage& stage_;
  std::map<RequestId, std::int32_t> ranks_;  // of those that run: with their followers'
  std::set<RequestId> has_followers_;
  std::int64_t wanted_ = 0;     // pages that decodes need in this step
  std::int64_t available_ = 0;  // and that are not promised
  int preempted_ = 0;           // in this Next
  std::int64_t passes_ = 0;
  bool ambiguous_ = false;  // who was admitted before whom in this Next
};

}  // namespace banyan::sim
