#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

std::int64_t CountTurns(const Workload& workload) {
  std::int64_t turns = 0;
  for (const Conversation& conversation : workload.conversations) {
    turns += static_cast<std::int64_t>(conversation.turns.size());
  }
  return turns;
}

}  // namespace banyan::loadtest
