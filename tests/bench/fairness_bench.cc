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
constexpr std::size_t kClients = 96;
constexpr std::int64_t kRequests = 6000;
constexpr std::int64_t kAnswer = 16;

// 32 families of prompts that begin with the same 1,024 tokens, of which the pool can keep eight;
// and, each third time, a prompt of 512 tokens that is like no other.
class Traffic {
 public:
  void Submit(Service& service) {
    const bool cold = random_() % 3 == 0;
    std::vector<TokenId> prompt;
    if (!cold) prompt = Text((std::uint64_t{1} << 30) + random_() % 32, 1024);
    service.Submit(Joined(std::move(prompt), Text(next_++, cold ? 512 : 64)), kAnswer,
                   cold ? kCold : kHot);
  }

 private:
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

// As many clients as kClients, each with one request at a time, and a new one at once when it is
// answered. (passes)
void Fairness(benchmark::State& state) {
  scheduler::Options options;
  options.max_batch_tokens = 512;
  options.max_running = 8;
  options.context_length = 8192;
  options.max_passes = static_cast<std::int32_t>(state.range(0));
  options.ageing = std::chrono::hours(1000);  // only passes bound the wait
  Service service(options, 8 * 64 + 8 * 16);
  Traffic traffic;
  Seen seen[2];
  double tokens = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kClients; ++i) traffic.Submit(service);
    while (seen[kHot].requests + seen[kCold].requests < kRequests) {
      service.Next();
      for (const Service::Event& event : service.admitted()) seen[event.kind].Add(event);
      tokens += static_cast<double>(service.batch_tokens());
      service.Answer();
      service.Complete();
      for (std::size_t i = service.finished().size(); i > 0; --i) traffic.Submit(service);
      service.EndStep(std::chrono::milliseconds(20));
    }
  }
  Seen all = seen[kHot];
  all.prompt_tokens += seen[kCold].prompt_tokens;
  all.cached_tokens += seen[kCold].cached_tokens;
  state.counters["hit_rate"] = all.hit_rate();
  state.counters["hot_hit_rate"] = seen[kHot].hit_rate();
  state.counters["tokens/request"] = tokens / static_cast<double>(kRequests);
  state.counters["cold_worst_wait"] = static_cast<double>(seen[kCold].worst_wait);
  state.counters["cold_mean_wait"] = seen[kCold].waits / static_cast<double>(seen[kCold].requests);
  state.counters["hot_worst_wait"] = static_cast<double>(seen[kHot].worst_wait);
}
BENCHMARK(Fairness)->Arg(0)->Arg(4)->Arg(16)->Arg(64)->Arg(1000)->Iterations(1);

}  // namespace
}  // namespace banyan::bench
