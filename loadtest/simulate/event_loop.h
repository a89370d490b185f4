// Conversations, replicas and a virtual clock. Internal to this folder.
//
//   arrival:  prompt -> fits? -> router -> replica waits, or begins a step
//   step:     ends; who finished schedules the next turn; the next step begins
//
// Events of one moment: arrivals first, then steps; conversations and replicas by their number. So
// the same workload gives the same figures.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "loadtest/simulate/replica.h"
#include "loadtest/simulate/simulate.h"

namespace banyan::loadtest {

class EventLoop {
 public:
  // Both outlive it. The options were checked.
  EventLoop(const Workload& workload, const SimulateOptions& options);

  SimulatedRow Run();  // once

 private:
  struct Event {
    Tick at{0};
    enum class Kind : std::uint8_t { kArrival, kStep } kind = Kind::kArrival;
    std::int64_t index = 0;  // of a conversation or a replica
    auto operator<=>(const Event&) const = default;
  };
  // A conversation, between the turns that are done and its next one, which is `turn`.
  struct Talk {
    std::int64_t turn = 0;
    Tick scheduled{0};
    Tick sent{0};
    std::int64_t first_prompt = 0;      // tokens
    std::vector<std::int64_t> answers;  // their tokens
  };
  // What is asked, by the number of the job.
  struct Asked {
    std::int64_t conversation = 0;
    Tick scheduled{0};
    Tick sent{0};
  };

  const std::vector<Turn>& Turns(std::int64_t conversation) const;
  void Schedule(std::int64_t conversation, Tick answered);
  void Arrive(std::int64_t conversation, Tick now);
  void Refuse(std::int64_t conversation, const absl::Status& why, Tick now);
  void Step(std::int64_t replica, Tick now);
  void Finish(std::uint64_t job, Tick now);
  std::int32_t Route(const Talk& talk, const std::vector<TokenId>& prompt);
  Record NewRecord(std::int64_t conversation, std::int64_t turn) const;

  const Workload& workload_;
  const SimulateOptions& options_;
  scheduler::Options bounds_;
  radix::Options cache_;
  Router router_;
  Result result_;
  std::vector<Job> jobs_;
  std::vector<Asked> asked_;
  std::vector<Talk> talks_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::int64_t> load_;  // by replica; of Route
  std::vector<bool> woken_;         // by replica: idle, and its step is among the events
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::uint64_t> finished_;  // of Step
  SimulatedRow row_;
};

}  // namespace banyan::loadtest
