// Whose turn it is among tenants, by a naive count: a deficit for each tenant that has a request,
// and who sits where since when. Rounds are walked through one by one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/sim/stage.h"

namespace banyan::sim {

class TurnCheck {
 public:
  explicit TurnCheck(Stage& stage) : stage_(stage) {}

  void OnSubmit(const Client& client);
  void BeforeNext();
  // Called by the observer, before the client's own account says so.
  void OnAdmitted(const Client& client);
  void OnSampled(const Client& client);
  void OnFinished(const Client& client);
  void AfterNext(int preempted);
  // After every call: deficits are those of the scheduler, and who came to wait is seated.
  void Check();

 private:
  struct Seat {
    std::int64_t since = 0;  // in the order of calls; those that sat down in one call are equal
    int requests = 0;
  };
  using Place = std::pair<std::int32_t, std::string>;  // aged priority, tenant

  std::int32_t Aged(const Client& client) const;
  bool Queues(const Client& client) const;
  void FindUntold(const Client* admitted);
  void Charge(const std::string& tenant, std::int64_t tokens);
  void PassRound();
  void PassWhileAllOwe();
  void SitDown(const Client& client, std::int32_t priority);
  void StandUp(const Client& client);
  // Those that have waited long enough sit where they belong now, in the order of when.
  void Promote();
  // The highest priority that somebody waits at; rounds pass until one of those has credit.
  std::int32_t Turn();

  Stage& stage_;
  std::map<std::string, std::int64_t> deficits_;
  std::map<std::string, int> live_;
  std::map<Place, Seat> seats_;
  std::map<RequestId, std::int32_t> places_;  // of each that is seated: the priority
  std::int64_t calls_ = 0;
  bool promoted_ = false;   // in this Next
  bool was_full_ = false;   // before it as many ran as may
  bool ambiguous_ = false;  // who came before whom in this Next is not told
};

}  // namespace banyan::sim
