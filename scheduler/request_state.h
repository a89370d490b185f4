// The states of a request inside the scheduler, and the only moves between them.
//
//            +-- served, or the producer stopped --+
//            v                                     |
//    +--> waiting --needs what another computes--> following
//    |       |                                     |
//    |       +--admitted--> prefill --------> decode
//    |                       |    |            |    |
//    +------ preempted ------+----|------------+    |
//                                 +--- cancelled ---+   with a step in flight that names its pages
//                                        ending
//                                          v
//    finished   from every state: ended, cancelled, failed, or the step in flight came back
//
// Cancelling is legal in every state: it moves to finished or ending, or it is too late and
// ignored.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan::scheduler {

enum class RequestState : std::uint8_t {
  kWaiting,    // in the queue; holds no pages
  kFollowing,  // waits for a prefix that a running request, its producer, computes; holds no pages
  kPrefill,    // admitted; known tokens are still to be computed
  kDecode,     // one token per step
  kEnding,     // cancelled, but a step in flight still uses its pages; what it brings is dropped
  kFinished,   // its stream has its end, its pages are given up
};
inline constexpr std::size_t kRequestStates = 6;

// kMoves[from][to], in the order of RequestState.
inline constexpr bool kMoves[kRequestStates][kRequestStates] = {
    // waiting following prefill decode ending finished
    {false, true, true, false, false, true},     // waiting
    {true, false, false, false, false, true},    // following
    {true, false, false, true, true, true},      // prefill
    {true, false, false, false, true, true},     // decode
    {false, false, false, false, false, true},   // ending
    {false, false, false, false, false, false},  // finished
};

constexpr bool MayMove(RequestState from, RequestState to) {
  return kMoves[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

}  // namespace banyan::scheduler
