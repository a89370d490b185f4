// One simulation: a seed's requests and faults, driven tick by tick through the real scheduler,
// tree and pool under a fake clock, with every invariant checked after every call.
// docs/simulator.md has the invariants in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"
#include "tests/sim/account_check.h"
#include "tests/sim/batch_check.h"
#include "tests/sim/eviction_check.h"
#include "tests/sim/fairness.h"
#include "tests/sim/keep_check.h"
#include "tests/sim/order_check.h"
#include "tests/sim/random.h"
#include "tests/sim/reader.h"
#include "tests/sim/share_check.h"
#include "tests/sim/stage.h"
#include "tests/sim/turn_check.h"
#include "tests/sim/workload.h"

namespace banyan::sim {

class World : public scheduler::Observer, public radix::Observer {
 public:
  World(std::uint64_t seed, const Scenario& scenario);
  ~World() override;

  // Everything: work and faults, then calm, then the end. Throws a Failure.
  void Run();

  const Stage& stage() const { return stage_; }

 private:
  void RunTick();
  void Arrive();
  void Post(std::vector<Wish> wishes);
  void Drain();
  void Submit(scheduler::Request request);
  bool PeakPagesFit(const Client& client) const;
  void Bound(Client& client);
  bool Step();  // false: there was nothing to run
  void Finish(const Batch& batch);
  void Settle();  // after every call: poison what is free, read, check

  // Faults.
  void Disturb();
  void Cancel(Ask ask);
  void CancelNow(const scheduler::Cancellation& cancellation);
  void Flush();
  void ShutDown();

  void Calm();
  std::int64_t CalmBound() const;
  void CheckEnd();
  void CheckCached();

  void OnAdmitted(const scheduler::Request& request,
                  const scheduler::Admission& admission) override;
  void OnPreempted(const scheduler::Request& request, std::int64_t output_tokens) override;
  void OnFirstToken(const scheduler::Request& request, Tick since_submit) override;
  void OnToken(const scheduler::Request& request, Tick since_last) override;
  void OnFinished(const scheduler::Request& request, scheduler::FinishReason reason,
                  const scheduler::Usage& usage, Tick since_submit) override;
  void OnEvicted(Tick lifetime, Tick idle) override;
  void OnReused(std::int32_t pages, Tick gap) override;

  void OnSampled(Client& client);
  void StopRunning(Client& client);

  Random random_;
  Stage stage_;
  Workload workload_;
  BatchCheck batch_check_;
  ShareCheck share_check_;
  OrderCheck order_check_;
  TurnCheck turn_check_;
  KeepCheck keep_check_;
  AccountCheck account_check_;
  EvictionCheck eviction_check_;
  SharesCheck shares_check_;
  PulseCheck pulse_check_;
  Reader reader_;
  std::vector<RequestId> ended_;  // since the last Settle
  std::vector<bool> poisoned_;    // by page
  bool in_next_ = false;
  bool in_flight_ = false;
  bool calm_ = false;
};

}  // namespace banyan::sim
