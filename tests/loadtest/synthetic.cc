#include "tests/loadtest/synthetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace banyan::loadtest {
namespace {

Tick FromSeconds(double seconds) { return Tick(static_cast<Tick::rep>(seconds * 1e9)); }

class Maker {
 public:
  explicit Maker(const SyntheticOptions& options) : options_(options), random_(options.seed) {}

  Report Make() {
    Result& result = report_.result;
    result.facts = {{"target", "http://127.0.0.1:8080"},
                    {"model", "example-135m <instruct>"},
                    {"workload", "generator seed=1"},
                    {"loop", "open, Poisson"},
                    {"ended", "2025-01-01T00:00:00Z"}};
    report_.slo.ttft = std::chrono::milliseconds(500);
    report_.slo.itl = std::chrono::milliseconds(50);
    double begin = 0;
    for (std::int64_t i = 0; i < options_.conversations; ++i) {
      begin += Exponential() / options_.rate;
      Conversation(i, begin);
    }
    std::sort(result.records.begin(), result.records.end(),
              [](const Record& a, const Record& b) { return a.end < b.end; });
    result.warm_up = std::chrono::seconds(5);
    result.duration = result.records.back().end + Tick(1);
    Timeline();
    if (options_.has_metrics) Metrics();
    result.client.cpu_share = 0.23;
    return std::move(report_);
  }

 private:
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double Exponential() { return -std::log(1 - Uniform()); }
  double Around(double median, double sigma) {
    const double normal = std::sqrt(2 * Exponential()) * std::cos(6.283185307179586 * Uniform());
    return median * std::exp(sigma * normal);
  }

  void Conversation(std::int64_t number, double at) {
    double prompt = Around(400, 0.4);
    double cached = number < 4 ? 0 : 300;
    for (std::int32_t turn = 1; turn <= options_.turns; ++turn) {
      Record record;
      record.conversation = number;
      record.turn = turn;
      record.scheduled = FromSeconds(at);
      const double answer = std::ceil(Around(60, 0.5));
      Fill(record, prompt, std::min(cached, prompt - 1), answer);
      at = Seconds(record.end) + 1 + 2 * Exponential();
      report_.result.records.push_back(record);
      cached = prompt + answer;
      prompt += answer + Around(40, 0.6);
      if (turn > 1 && Uniform() < 0.15) break;
    }
  }

  void Fill(Record& record, double prompt, double cached, double answer) {
    // Slowest in the middle of the run.
    const double phase = record.conversation / static_cast<double>(options_.conversations);
    const double load = options_.slowness * (1 + 3 * std::exp(-50 * (phase - 0.5) * (phase - 0.5)));
    record.client_delay = FromSeconds(20e-6 * Exponential());
    report_.result.client.lag.Record(record.client_delay.count());
    record.sent = record.scheduled + record.client_delay + FromSeconds(Around(0.0004, 0.5));
    record.wanted_prompt_tokens = static_cast<std::int64_t>(prompt);
    if (Uniform() < options_.failing) {
      record.outcome = Uniform() < 0.5 ? Outcome::kTimeout : Outcome::kStatus;
      record.status = record.outcome == Outcome::kStatus ? 429 : 0;
      record.error = "queue is full, \"retry\"\nlater";
      record.end = record.sent + FromSeconds(0.5);
      return;
    }
    record.status = 200;
    record.finish_reason = "length";
    record.prompt_tokens = static_cast<std::int64_t>(prompt);
    record.cached_tokens = static_cast<std::int64_t>(cached);
    record.content_events = static_cast<std::int64_t>(answer);
    record.output_tokens = record.content_events;
    if (!options_.tells_usage) {
      record.prompt_tokens = record.cached_tokens = record.output_tokens = -1;
    }
    record.first_content =
        record.sent + FromSeconds(load * (0.012 + (prompt - cached) * 2e-4 * Around(1, 0.15)));
    Tick at = *record.first_content;
    for (std::int64_t i = 1; i < record.content_events; ++i) {
      const Tick gap = FromSeconds(load * Around(0.011, 0.25));
      if (record.scheduled >= std::chrono::seconds(5)) {
        report_.result.inter_token.Record(gap.count());
      }
      at += gap;
    }
    record.last_content = at;
    record.end = at + FromSeconds(0.0005);
  }

  void Timeline() {
    Result& result = report_.result;
    const auto second = [](Tick at) { return static_cast<std::size_t>(Seconds(at)); };
    result.timeline.resize(second(result.duration) + 1);
    for (const Record& record : result.records) {
      ++result.timeline[second(record.sent)].sent;
      Second& end = result.timeline[second(record.end)];
      ++(record.outcome == Outcome::kOk ? end.finished : end.failed);
      end.tokens += record.content_events;
      for (std::size_t i = second(record.sent); i < second(record.end); ++i) {
        ++result.timeline[i].in_flight;
      }
    }
  }

  void Metrics() {
    Result& result = report_.result;
    for (std::size_t i = 0; i < result.timeline.size(); ++i) {
      ServerSample sample;
      sample.at = std::chrono::seconds(i);
      sample.pool_use = 1 - std::exp(-0.05 * static_cast<double>(i));
      sample.running = std::min(8, result.timeline[i].in_flight);
      sample.waiting = result.timeline[i].in_flight - sample.running;
      sample.prefix_queries = sample.prefix_hits = std::numeric_limits<double>::quiet_NaN();
      result.server.push_back(sample);
    }
  }

  const SyntheticOptions options_;
  std::mt19937_64 random_;
  Report report_;
};

}  // namespace

Report Synthetic(const SyntheticOptions& options) { return Maker(options).Make(); }

}  // namespace banyan::loadtest
