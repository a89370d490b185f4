// Whether everything that could be shared is, and nothing else: what the cache gives against what
// was ever computed, and what is computed against what was computed before.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/sim/knowledge.h"
#include "tests/sim/stage.h"

namespace banyan::sim {

class ShareCheck {
 public:
  explicit ShareCheck(Stage& stage) : stage_(stage) {}

  // Called by the observer, the first time that it is admitted.
  void OnAdmitted(const Client& client);
  // Admitted or resumed in one step, in this order: no running prefill was about to compute more of
  // what they need.
  void CheckRendezvous(const std::vector<Client*>& admitted);
  // Whoever follows has a producer that will bring more than there is.
  void CheckFollowers();
  // A step succeeded that computed its next `tokens` tokens; client.computed counts them.
  void OnComputed(Client& client, std::int64_t tokens);
  void OnFlush(Realm realm);
  void OnFailedStep(Realm realm) { Of(realm).is_whole = false; }

  // Whether what the cache gives in that realm must be all that was ever computed there.
  bool IsExact(Realm realm) {
    return stage_.caching() && stage_.scenario.ample && stage_.scenario.policy_one_in == 0 &&
           Of(realm).is_whole;
  }

 private:
  struct RealmState {
    Knowledge knowledge;
    bool is_whole = true;  // nothing computed was lost
  };
  RealmState& Of(Realm realm) { return realms_[realm]; }
  void CheckReleased(const Client& client, RequestId producer);
  std::int64_t Common(const Client& producer, const Client& client) const;

  Stage& stage_;
  std::map<Realm, RealmState> realms_;
};

}  // namespace banyan::sim
