// The other end of the streams: what a client reads is the oracle's answer or the beginning of it.
#pragma once

#include "tests/sim/stage.h"

namespace banyan::sim {

class Reader {
 public:
  explicit Reader(Stage& stage) : stage_(stage) {}

  // Takes what waits in the client's stream.
  void Read(Client& client);
  // It read its end: whether it got what it should have.
  void CheckWhole(const Client& client) const;

 private:
  void ReadEvent(Client& client, const scheduler::StreamEvent& event) const;
  void ReadEnd(Client& client, const scheduler::StreamEvent& event) const;
  void CheckReason(const Client& client) const;

  Stage& stage_;
  std::vector<scheduler::StreamEvent> events_;
};

}  // namespace banyan::sim
