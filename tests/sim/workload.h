// Who asks for what, and when: seeded prompts that share in all the ways that prompts do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "scheduler/request.h"
#include "tests/sim/client.h"
#include "tests/sim/random.h"
#include "tests/sim/scenario.h"

namespace banyan::sim {

// A request that is yet to be numbered and posted.
struct Wish {
  scheduler::Request request;
  Realm realm = 0;
  int reads_one_in = 1;
  std::size_t capacity = 100'000;
  int conversation = -1;  // whose next turn it is
};

class Workload {
 public:
  Workload(const Scenario& scenario, Random& random);

  // What arrives in this tick, while so many requests live; those of one inner run are posted
  // together.
  std::vector<std::vector<Wish>> Arrivals(int tick, int live);
  bool done() const { return made_ >= scenario_.requests; }

  // The request ended: everything that was said.
  void OnEnd(const Client& client, std::vector<TokenId> prompt_and_answer);
  void SetConversation(RequestId request, int conversation);

  // The name of a realm's tenant and salt. Chosen so that careless names would collide.
  static std::string TenantOf(Realm realm, int salts);
  static std::string SaltOf(Realm realm, int salts);

 private:
  struct Conversation {
    Realm realm = 0;
    std::vector<TokenId> said;
    bool waits = false;  // for an answer
    RequestId asked{};
  };
  struct Path {
    Realm realm = 0;
    std::vector<TokenId> tokens;
  };

  std::vector<std::vector<Wish>> ShareArrivals();
  std::vector<std::vector<Wish>> PulseArrivals(int tick, int live);
  std::vector<Wish> Some();
  Wish Plain(Realm realm, std::vector<TokenId> prompt);
  std::vector<Wish> Flood();
  Wish NextTurn();
  Wish Hot();
  Wish Fork();
  Wish Giant();
  Realm AnyRealm();
  std::vector<TokenId> Tokens(int length);
  std::vector<TokenId> Own();
  void Decorate(scheduler::Request& request);
  void SetPolicy(scheduler::Request& request);
  scheduler::KvPolicy AnyWindow();
  scheduler::KvPolicy AnyBudget();

  const Scenario& scenario_;
  Random& random_;
  std::vector<std::vector<TokenId>> systems_;
  std::vector<Conversation> conversations_;
  std::vector<Path> paths_;
  int made_ = 0;
  bool pulsed_ = false;
};

}  // namespace banyan::sim
