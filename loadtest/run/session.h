// One conversation: turn after turn over the wire, each recorded.
#pragma once

#include <cstdint>

#include <boost/asio/awaitable.hpp>

#include "base/clock.h"
#include "http/client.h"
#include "loadtest/run/dialogue.h"
#include "loadtest/run/recorder.h"
#include "loadtest/run/request_format.h"
#include "loadtest/run/run.h"
#include "loadtest/run/schedule.h"
#include "loadtest/run/waiting.h"

namespace banyan::loadtest {

// What the conversations of a run share; all outlives them.
struct Bed {
  const RunOptions& options;
  const RequestFormat& format;
  const Vocabulary& vocabulary;
  const Clock& clock;
  http::Client& client;
  Waiting& waiting;
  Recorder& recorder;
  Tick start;  // of the clock
  std::int64_t requests_left;

  Tick Now() const { return clock.Now() - start; }
  // Whether a request may be sent at that time.
  bool Open(Tick at) const {
    return !waiting.stopped() && requests_left > 0 &&
           (options.max_time == Tick(0) || at <= options.max_time);
  }
};

class Session {
 public:
  // `index`: in the workload. The text of the first turn is made here, before it is due.
  Session(Bed& bed, const Conversation& conversation, std::int64_t index);

  // Sends the turns, the first at once; its place was entered, and is left here. Ends with the
  // last turn, with one that fails, or when no more may be sent.
  boost::asio::awaitable<void> Run(Due due);

 private:
  void Say(const Turn& turn);
  // Waits for the next turn's time and for a place. False: it will not be sent.
  boost::asio::awaitable<bool> WaitFor(const Due& due);
  // The turn's request and its answer. False: it failed.
  boost::asio::awaitable<bool> Send(const Turn& turn, const Due& due);

  Bed& bed_;
  const Conversation& conversation_;
  const std::int64_t index_;
  Dialogue dialogue_;
  std::int64_t wanted_tokens_ = 0;  // of the history, by the source and by usage; -1: not known
  Tick answered_{0};                // the end of the last answer
  Tick free_{0};                    // its connection: a server may not end it with the answer
};

}  // namespace banyan::loadtest
