// A whole run: everything that reports are made from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "loadtest/measure/histogram.h"
#include "loadtest/measure/record.h"

namespace banyan::loadtest {

// One second of the run.
struct Second {
  std::int64_t sent = 0;
  std::int64_t finished = 0;  // ok
  std::int64_t failed = 0;
  std::int64_t tokens = 0;     // that arrived; of an answer without usage, events with content
  std::int32_t in_flight = 0;  // at its end
};

// What the server's own metrics said, at one moment. NaN where it does not say.
struct ServerSample {
  Tick at{0};
  double pool_use = 0;  // 0..1
  double running = 0;
  double waiting = 0;
  double prefix_queries = 0;  // tokens, since the server began
  double prefix_hits = 0;
};

struct ClientUse {
  double cpu_share = 0;  // of one processor, over the run
  Histogram lag;         // from when the client wanted to act to when it did
};

struct Result {
  // What was run: target, model, workload, loop, bounds, version, time of day: in the order of
  // reports. No name twice.
  std::vector<std::pair<std::string, std::string>> facts;
  Tick warm_up{0};
  Tick duration{0};  // of the whole run
  bool interrupted = false;
  std::vector<Record> records;  // in the order in which they ended
  Histogram inter_token;        // gaps between tokens, of requests after the warm-up
  std::vector<Second> timeline;
  std::vector<ServerSample> server;
  ClientUse client;

  // Requests of the warm-up are in `records` and in no summary. The scheduled time decides, because
  // every request has one: those that could not be sent are not lost.
  bool Measured(const Record& record) const { return record.scheduled >= warm_up; }
};

}  // namespace banyan::loadtest
