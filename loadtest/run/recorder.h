// Keeps what happens in a run: records, the seconds of its timeline, and what is shown while it
// runs. It asks no clock: every time is given, since the run began.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "loadtest/client/answer_reader.h"
#include "loadtest/measure/histogram.h"
#include "loadtest/measure/result.h"
#include "loadtest/run/run.h"

namespace banyan::loadtest {

class Recorder {
 public:
  // A timeline ends after so many seconds; what comes later counts to the last.
  static constexpr std::size_t kMaxSeconds = 7 * 24 * 3600;

  Recorder(Tick warm_up, std::int64_t planned);

  void Sent(Tick at);     // a request began
  void Content(Tick at);  // an event of it brought content
  // It is over. `events` are its contents; gaps count when it was sent after the warm-up.
  void Ended(Record record, const std::vector<ContentEvent>& events);
  void Sampled(const ServerSample& sample);
  void Reach(Tick now);  // seconds that ended before are closed

  // What was since the last report.
  Progress Report(Tick now);

  std::int64_t sent() const { return sent_; }
  std::int32_t in_flight() const { return in_flight_; }

  // The run is over: everything but facts, interrupted and cpu_share.
  Result Finish(Tick now);

 private:
  struct Window {
    Tick begin{0};
    std::int64_t ended = 0;
    std::int64_t tokens = 0;
    std::int64_t prompt_tokens = 0;  // of answers that told their hits
    std::int64_t cached_tokens = 0;
    Histogram ttft;
  };

  Second& SecondAt(Tick at);

  Result result_;
  const std::int64_t planned_;
  std::size_t closed_ = 0;  // seconds whose in_flight is known
  std::int64_t sent_ = 0;
  std::int64_t finished_ = 0;
  std::int64_t failed_ = 0;
  std::int32_t in_flight_ = 0;
  Window window_;
};

}  // namespace banyan::loadtest
