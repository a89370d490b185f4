// Gathers what is read from a source into a workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

class Collection {
 public:
  // max_requests 0: all.
  explicit Collection(std::int64_t max_requests)
      : left_(max_requests > 0 ? max_requests : std::numeric_limits<std::int64_t>::max()) {}

  bool full() const { return left_ == 0; }

  // Not to be called when full. Turns that are more than the bound are left out.
  // kInvalidArgument, and nothing added, when some conversations have times and others none, or
  // when its turns' times decrease.
  absl::Status Add(Conversation conversation);
  // As the next turn of the conversation that bears this name. Turns are put in order of their
  // times in the end where all have some; where not all do, times must not decrease.
  absl::Status AddTurn(const std::string& session, Turn turn);

  // In order of first turns, at times that begin with 0.
  std::vector<Conversation> Finish();

 private:
  struct Session {
    std::size_t index = 0;  // into conversations_
    Tick last{0};           // the latest time so far
    bool sorted = true;
    bool all_timed = true;
  };

  absl::Status CheckTimes(const Conversation& conversation) const;

  std::int64_t left_;
  std::optional<bool> timed_;  // as the first conversation is
  std::vector<Conversation> conversations_;
  absl::flat_hash_map<std::string, Session> sessions_;
};

}  // namespace banyan::loadtest
