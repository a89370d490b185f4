// Whether what a request computed is there for others when it gives its pages up, and for itself
// when it resumes.
#pragma once

#include <vector>

#include "tests/sim/stage.h"

namespace banyan::sim {

class KeepCheck {
 public:
  explicit KeepCheck(Stage& stage) : stage_(stage) {}

  // Called by the observer: it was preempted or is finished. Its account still says what it had.
  void OnGivenUp(const Client& client);
  // Those that were admitted in the latest Next, for the first time or again.
  void AfterNext(const std::vector<Client*>& admitted);

 private:
  // How many of its first `most` tokens the tree has.
  std::int64_t Cached(const Client& client, std::int64_t most);
  std::int64_t WholePages(std::int64_t tokens) const;

  Stage& stage_;
};

}  // namespace banyan::sim
