// The states of a request inside the scheduler, and the only moves between them.
//
//   waiting --admitted--> prefill --first token--> decode
//      |                   |    \                 /    |
//      |                   |     \--- cancelled -/     |      with a step in flight that names
//      |                   |           ending          |      its pages
//      v                   v              v            v
//    finished <----------- ended, or the step in flight came back
//
// Cancelling is legal in every state: it moves to finished or ending, or it is too late and
// ignored.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan::scheduler {

enum class RequestState : std::uint8_t {
  kWaiting,   // holds no pages
  kPrefill,   // admitted; prompt tokens are still to be computed
  kDecode,    // one token per step
  kEnding,    // cancelled, but a step in flight still uses its pages; what it brings is dropped
  kFinished,  // its stream has its end, its pages are given up
};
inline constexpr std::size_t kRequestStates = 5;

// kMoves[from][to], in the order of RequestState.
inline constexpr bool kMoves[kRequestStates][kRequestStates] = {
    // waiting prefill decode ending finished
    {false, true, false, false, true},    // waiting
    {false, false, true, true, true},     // prefill
    {false, false, false, true, true},    // decode
    {false, false, false, false, true},   // ending
    {false, false, false, false, false},  // finished
};

constexpr bool MayMove(RequestState from, RequestState to) {
  return kMoves[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

}  // namespace banyan::scheduler
