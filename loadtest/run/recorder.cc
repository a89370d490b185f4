#include "loadtest/run/recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace banyan::loadtest {
namespace {

// Records that have their place from the beginning: moving a million of them to a larger one in the
// middle of a run would be a lag of 0.1 s. Memory that is not written to is not taken.
constexpr std::int64_t kMaxPlaces = 1 << 22;

}  // namespace

Recorder::Recorder(Tick warm_up, std::int64_t planned) : planned_(planned) {
  result_.warm_up = warm_up;
  result_.records.reserve(
      static_cast<std::size_t>(std::clamp<std::int64_t>(planned, 0, kMaxPlaces)));
}

Second& Recorder::SecondAt(Tick at) {
  const auto index =
      static_cast<std::size_t>(std::max<std::int64_t>(at / std::chrono::seconds(1), 0));
  const std::size_t kept = std::min(index, kMaxSeconds - 1);
  Reach(at);
  if (result_.timeline.size() <= kept) result_.timeline.resize(kept + 1);
  return result_.timeline[kept];
}

void Recorder::Reach(Tick now) {
  const auto ended =
      static_cast<std::size_t>(std::max<std::int64_t>(now / std::chrono::seconds(1), 0));
  const std::size_t kept = std::min(ended, kMaxSeconds);
  if (result_.timeline.size() < kept) result_.timeline.resize(kept);
  for (; closed_ < kept; ++closed_) result_.timeline[closed_].in_flight = in_flight_;
}

void Recorder::Sent(Tick at) {
  ++SecondAt(at).sent;
  ++sent_;
  ++in_flight_;
}

void Recorder::Content(Tick at) {
  ++SecondAt(at).tokens;
  ++window_.tokens;
}

void Recorder::Ended(Record record, const std::vector<ContentEvent>& events) {
  const bool ok = record.outcome == Outcome::kOk;
  Second& second = SecondAt(record.end);
  ++(ok ? second.finished : second.failed);
  ++(ok ? finished_ : failed_);
  --in_flight_;
  ++window_.ended;
  if (ok) {
    window_.ttft.Record(std::max<std::int64_t>(record.ttft().count(), 0));
    if (record.hit_rate()) {
      window_.prompt_tokens += record.prompt_tokens;
      window_.cached_tokens += record.cached_tokens;
    }
  }
  // Each event was counted as one token when it came.
  if (record.output_tokens > static_cast<std::int64_t>(events.size())) {
    ShareTokens(events, record.output_tokens, [&](std::size_t event, std::int64_t tokens) {
      SecondAt(events[event].at).tokens += tokens - 1;
      window_.tokens += tokens - 1;
    });
  }
  if (ok && result_.Measured(record)) {
    TokenGaps(events, record.output_tokens, [this](std::int64_t gap, std::int64_t times) {
      result_.inter_token.Record(gap, times);
    });
  }
  result_.client.lag.Record(std::max<std::int64_t>(record.client_delay.count(), 0));
  result_.records.push_back(std::move(record));
}

void Recorder::Sampled(const ServerSample& sample) { result_.server.push_back(sample); }

Progress Recorder::Report(Tick now) {
  Reach(now);
  Progress progress;
  progress.at = now;
  progress.sent = sent_;
  progress.finished = finished_;
  progress.failed = failed_;
  progress.in_flight = in_flight_;
  progress.planned = planned_;
  progress.ttft_p50 = Tick(window_.ttft.Quantile(0.5));
  progress.ttft_p99 = Tick(window_.ttft.Quantile(0.99));
  const double seconds = Seconds(now - window_.begin);
  if (seconds > 0) {
    progress.rate = static_cast<double>(window_.ended) / seconds;
    progress.tokens_per_second = static_cast<double>(window_.tokens) / seconds;
  }
  progress.hit_rate = window_.prompt_tokens == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                 : static_cast<double>(window_.cached_tokens) /
                                                       static_cast<double>(window_.prompt_tokens);
  window_ = Window();
  window_.begin = now;
  return progress;
}

Result Recorder::Finish(Tick now) {
  Reach(now);
  if (now % std::chrono::seconds(1) != Tick(0)) SecondAt(now).in_flight = in_flight_;
  result_.duration = now;
  return std::move(result_);
}

}  // namespace banyan::loadtest
