// What fairness costs: how much of the prompts comes from the cache, and how long the unlucky wait,
// when the request that waits longest may be passed over 0 times (order of arrival) or more often.
// Nothing here is timed: the clock is set, and each run is the same as any other.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "tests/bench/forest.h"
#include "tests/bench/service.h"

namespace banyan::bench {
namespace {

constexpr int kHot = 0;
constexpr int kCold = 1;
constexpr int kClients[] = {64, 32};  // of each kind
constexpr std::int64_t kRequests = 6000;
constexpr std::int64_t kAnswer = 16;

// Hot: families of prompts that begin with the same 1,024 tokens, of which the pool can keep about
// eight. Cold: 512 tokens that nobody else has.
class Traffic {
 public:
  explicit Traffic(std::uint64_t families) : families_(families) {}

  void Submit(Service& service, int kind) {
    std::vector<TokenId> prompt;
    if (kind == kHot) prompt = Text((std::uint64_t{1} << 30) + random_() % families_, 1024);
    prompt = Joined(std::move(prompt), Text(next_++, kind == kHot ? 64 : 512));
    service.Submit(std::move(prompt), kAnswer, kind);
  }

 private:
  const std::uint64_t families_;
  std::mt19937_64 random_{17};
  std::uint64_t next_ = 0;
};

struct Seen {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t worst_wait = 0;  // admissions
  double waits = 0;

  void Add(const Service::Event& event) {
    ++requests;
    prompt_tokens += event.prompt_tokens;
    cached_tokens += event.cached_tokens;
    worst_wait = std::max(worst_wait, event.waited);
    waits += static_cast<double>(event.waited);
  }
  double hit_rate() const {
    return static_cast<double>(cached_tokens) / static_cast<double>(prompt_tokens);
  }
};

// Each client has one request at a time, and another of its kind as soon as it is answered, so that
// there are always hot ones to be preferred. (families, max_passes)
void Fairness(benchmark::State& state) {
  scheduler::Options options;
  options.max_batch_tokens = 512;
  options.max_running = 8;
  options.context_length = 8192;
  options.max_passes = static_cast<std::int32_t>(state.range(1));
  options.ageing = std::chrono::hours(1000);  // only passes bound the wait
  Service service(options, 8 * 64 + 8 * 16);
  Traffic traffic(static_cast<std::uint64_t>(state.range(0)));
  Seen seen[2];
  double tokens = 0;
  for (auto _ : state) {
    for (const int kind : {kHot, kCold}) {
      for (int i = 0; i < kClients[kind]; ++i) traffic.Submit(service, kind);
    }
    while (seen[kHot].requests + seen[kCold].requests < kRequests) {
      service.Next();
      for (const Service::Event& event : service.admitted()) seen[event.kind].Add(event);
      tokens += static_cast<double>(service.batch_tokens());
      service.Answer();
      service.Complete();
      for (const Service::Event& event : service.finished()) traffic.Submit(service, event.kind);
      service.EndStep(std::chrono::milliseconds(20));
    }
  }
  Seen all = seen[kHot];
  all.prompt_tokens += seen[kCold].prompt_tokens;
  all.cached_tokens += seen[kCold].cached_tokens;
  state.counters["cold_share"] =
      static_cast<double>(seen[kCold].requests) / static_cast<double>(kRequests);
  state.counters["hit_rate"] = all.hit_rate();
  state.counters["hot_hit_rate"] = seen[kHot].hit_rate();
  state.counters["tokens/request"] = tokens / static_cast<double>(kRequests);
  state.counters["cold_worst_wait"] = static_cast<double>(seen[kCold].worst_wait);
  state.counters["cold_mean_wait"] = seen[kCold].waits / static_cast<double>(seen[kCold].requests);
  state.counters["hot_worst_wait"] = static_cast<double>(seen[kHot].worst_wait);
}
BENCHMARK(Fairness)->ArgsProduct({{1, 12}, {0, 4, 16, 64, 1000}})->Iterations(1);

}  // namespace
}  // namespace banyan::bench
