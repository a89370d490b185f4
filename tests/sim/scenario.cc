#include "tests/sim/scenario.h"

#include <algorithm>
#include <vector>

#include "tests/sim/random.h"

namespace banyan::sim {
namespace {

void DrawWork(Random& random, Scenario& scenario) {
  const auto weight = [&] { return random.OneIn(3) ? 0 : random.Between(1, 6); };
  scenario.kinds = {.hot = weight() + 1,
                    .conversations = weight(),
                    .forks = weight(),
                    .repeats = weight() / 2,
                    .floods = weight() / 2,
                    .giants = random.OneIn(3) ? 1 : 0,
                    .strangers = weight() / 2};
  scenario.requests = random.Between(15, 45);
  scenario.arrivals_one_in = random.Between(1, 4);
  scenario.most_at_once = random.Between(1, 4);
  scenario.burst_one_in = random.OneIn(2) ? random.Between(8, 30) : 0;
  scenario.tenants = random.OneIn(2) ? 1 : random.Between(2, 4);
  scenario.salts = random.OneIn(2) ? 1 : random.Between(2, 3);
  scenario.priorities = random.OneIn(2) ? 1 : random.Between(2, 10);
  scenario.alphabet = random.OneIn(2) ? random.Between(2, 4) : random.Between(5, kVocabulary);
  scenario.system_prompts = random.Between(1, 4);
  scenario.system_length = random.Between(1, 40);
  scenario.own_length = random.Between(1, 16);
  scenario.output = random.OneIn(3) ? random.Between(1, 4) : random.Between(5, 24);
}

void DrawFaults(Random& random, Scenario& scenario) {
  const auto rate = [&](int often, int rarely) {
    return random.OneIn(3) ? 0 : random.Between(often, rarely);
  };
  scenario.faults = {.cancel_one_in = rate(2, 20),
                     .stop_one_in = rate(2, 30),
                     .fail_one_in = random.OneIn(2) ? random.Between(8, 60) : 0,
                     .flush_one_in = random.OneIn(2) ? random.Between(5, 60) : 0,
                     .slow_one_in = rate(2, 12)};
  if (random.OneIn(6)) scenario.shutdown_tick = random.Between(1, 120);
}

void DrawBounds(Random& random, Scenario& scenario) {
  scheduler::Options& bounds = scenario.scheduler;
  bounds.max_running = random.OneIn(5) ? 1 : random.Between(2, 10);
  bounds.max_batch_tokens =
      bounds.max_running + (random.OneIn(2) ? random.Between(1, 8) : random.Between(9, 80));
  bounds.context_length = random.OneIn(3) ? random.Between(20, 120) : 2000;
  bounds.max_passes = random.OneIn(2) ? random.Between(0, 3) : random.Between(4, 16);
  bounds.quantum = random.OneIn(2) ? random.Between(1, 20) : random.Between(21, 300);
  bounds.headroom_tokens = random.Between(1, random.OneIn(2) ? 4 : 32);
  bounds.prefix_caching =
      random.OneIn(16) ? scheduler::PrefixCaching::kOff : scheduler::PrefixCaching::kOn;
  scenario.tick = std::chrono::milliseconds(random.Between(1, 30));
  bounds.ageing = random.OneIn(3) ? std::chrono::seconds(10)
                                  : scenario.tick * random.Between(1, 40) + Tick(random.Below(3));
  scenario.max_queue = static_cast<std::size_t>(random.OneIn(4) ? random.Between(2, 8) : 60);
}

void DrawPool(Random& random, Scenario& scenario) {
  radix::Options& cache = scenario.cache;
  cache.max_empty_namespaces = random.OneIn(2) ? random.Between(1, 3) : 1024;
  cache.page_size = random.OneIn(4) ? 1 : random.Between(2, random.OneIn(3) ? 16 : 6);
  // A conversation or a chain of forks may grow with each turn, so nothing is longer than this.
  const int longest = scenario.system_length + 8 * (scenario.own_length + scenario.output);
  if (scenario.ample) {
    scenario.kinds.giants = 0;
    scenario.scheduler.context_length =
        std::min<std::int64_t>(scenario.scheduler.context_length, longest);
    const auto each =
        scenario.scheduler.context_length / cache.page_size + 3;  // and a copy's source
    cache.pages = static_cast<std::int32_t>(each * scenario.requests);
    return;
  }
  if (random.OneIn(2)) {  // answers outgrow a pool that took all their prompts
    scenario.scheduler.headroom_tokens = random.Between(1, 2);
    scenario.scheduler.max_running = random.Between(3, 10);
    scenario.scheduler.max_batch_tokens = scenario.scheduler.max_running + random.Between(4, 40);
    scenario.system_length = random.Between(1, 12);
    scenario.output = random.Between(12, 40);
    scenario.kinds.giants = 0;
    if (random.OneIn(2)) {  // long prompts that many wait for, a few tokens a step
      scenario.scheduler.headroom_tokens = 1;
      scenario.scheduler.max_batch_tokens = scenario.scheduler.max_running + random.Between(1, 4);
      scenario.system_length = random.Between(16, 40);
      scenario.own_length = random.Between(8, 30);
      scenario.alphabet = kVocabulary;
      scenario.priorities = 1;
      scenario.scheduler.ageing = std::chrono::seconds(10);
      scenario.kinds.floods = 6;
    }
    const int one = scenario.system_length + scenario.own_length + scenario.output;
    cache.pages = std::max(3, random.Between(one, 3 * one) / cache.page_size);
    return;
  }
  // From less than one usual request to some of them.
  const int slots = random.OneIn(3) ? random.Between(6, 40) : random.Between(30, 4 * longest + 30);
  cache.pages = std::max(2, slots / cache.page_size);
}

// All of it comes at once, in a pool that holds everything, at one priority.
Scenario MakeShares(Random& random) {
  Scenario scenario;
  scenario.kind = Kind::kShares;
  scenario.tenants = random.Between(2, kMostTenants);
  scenario.requests = 35 * scenario.tenants;
  scenario.max_queue = static_cast<std::size_t>(scenario.requests);
  scenario.alphabet = random.OneIn(2) ? 3 : kVocabulary;
  scenario.system_length = random.Between(1, 10);
  scenario.own_length = random.Between(4, 16);
  scenario.output = random.Between(1, 4);
  scenario.tick = std::chrono::milliseconds(1);
  scenario.scheduler.max_running = random.Between(2, 6);
  scenario.scheduler.max_batch_tokens = scenario.scheduler.max_running + random.Between(4, 30);
  scenario.scheduler.context_length = 200;
  scenario.scheduler.quantum = random.Between(1, 40);
  scenario.scheduler.max_passes = random.Between(0, 8);
  scenario.ample = true;
  scenario.cache.page_size = random.Between(1, 8);
  scenario.cache.pages = 90 * scenario.requests / scenario.cache.page_size + scenario.requests;
  return scenario;
}

// Prompts that share nothing, in a pool that has room for the steady ones and little more.
Scenario MakePulse(Random& random) {
  Scenario scenario;
  scenario.kind = Kind::kPulse;
  scenario.steady = random.Between(3, 6);
  scenario.requests = 10'000;
  scenario.max_queue = static_cast<std::size_t>(scenario.steady * (kPulseRequests + 1));
  scenario.alphabet = kVocabulary;
  scenario.own_length = random.Between(10, 24);
  scenario.output = random.Between(16, 32);
  scenario.tick = std::chrono::milliseconds(1);
  scenario.scheduler.max_running = 3 * scenario.steady;
  scenario.scheduler.max_batch_tokens = scenario.scheduler.max_running + random.Between(8, 24);
  scenario.scheduler.context_length = 200;
  scenario.scheduler.headroom_tokens = random.Between(1, 4);
  scenario.cache.page_size = random.Between(1, 8);
  const int each = (scenario.own_length + scenario.output) / scenario.cache.page_size + 2;
  scenario.cache.pages = scenario.steady * each * 5 / 4;
  return scenario;
}

// Prompts of thousands of tokens, longer than an edge may be.
Scenario MakeLong(Random& random) {
  Scenario scenario;
  scenario.kinds.hot = scenario.kinds.forks = 4;
  scenario.kinds.conversations = scenario.kinds.repeats = 2;
  scenario.kinds.floods = 1;
  scenario.requests = 14;
  scenario.max_queue = 20;
  scenario.alphabet = random.OneIn(2) ? 3 : kVocabulary;
  scenario.system_prompts = 2;
  scenario.system_length = 4500;
  scenario.own_length = 300;
  scenario.output = 8;
  scenario.tick = std::chrono::milliseconds(1);
  scenario.scheduler.max_running = 4;
  scenario.scheduler.max_batch_tokens = random.Between(200, 2000);
  scenario.scheduler.context_length = 6000;
  scenario.cache.page_size = random.Between(1, 16);
  scenario.cache.pages = random.Between(6000, 16'000) / scenario.cache.page_size;
  return scenario;
}

}  // namespace

Scenario MakeScenario(std::uint64_t seed) {
  Random random(seed ^ 0x5CE9A210);
  if (seed % 50 == 10) return MakeShares(random);
  if (seed % 50 == 30) return MakePulse(random);
  if (seed % 50 == 45) return MakeLong(random);
  Scenario scenario;
  DrawWork(random, scenario);
  DrawBounds(random, scenario);
  scenario.ample = random.OneIn(3);
  DrawPool(random, scenario);
  if (!random.OneIn(3)) DrawFaults(random, scenario);
  if (random.OneIn(3)) {
    scenario.scheduler.mixed_prefill_tokens = random.Between(1, random.OneIn(2) ? 2 : 8);
  }
  if (random.OneIn(3)) {
    const auto policies = static_cast<int>(radix::kEvictions.size());
    scenario.cache.eviction =
        radix::kEvictions[static_cast<std::size_t>(random.Between(0, policies - 1))];
  }
  if (random.OneIn(3)) {
    scenario.policy_one_in = random.Between(1, 4);
    // Room for everything, for some, or for nothing.
    if (random.OneIn(3)) {
      scenario.scheduler.max_pages_aside = random.OneIn(3) ? 0 : random.Between(1, 12);
    } else {
      scenario.scheduler.max_pages_aside = std::int64_t{1} << 30;
    }
    // What those that run hold beside what they share.
    if (scenario.ample) scenario.cache.pages += 10 * (80 / scenario.cache.page_size + 2);
  }
  if (random.OneIn(4)) scenario.cache.sharing = radix::Sharing::kPages;
  return scenario;
}

std::string Words(const Scenario& scenario) {
  const auto number = [](const char* name, std::int64_t value) {
    return std::string(name) + " " + std::to_string(value);
  };
  const scheduler::Options& bounds = scenario.scheduler;
  return number("page size", scenario.cache.page_size) + number(", pages", scenario.cache.pages) +
         (scenario.ample ? " (ample)" : "") + ", eviction " +
         std::string(Name(scenario.cache.eviction)) + number(", running", bounds.max_running) +
         number(", batch", bounds.max_batch_tokens) +
         number(", beside decodes", bounds.mixed_prefill_tokens) +
         number(", context", bounds.context_length) + number(", passes", bounds.max_passes) +
         number(", ageing", bounds.ageing / scenario.tick) + " ticks" +
         number(", quantum", bounds.quantum) + number(", headroom", bounds.headroom_tokens) +
         (bounds.prefix_caching == scheduler::PrefixCaching::kOff ? ", no caching" : "") +
         number(", tenants", scenario.tenants) + number(", salts", scenario.salts) +
         number(", priorities", scenario.priorities) + number(", requests", scenario.requests) +
         (scenario.cache.sharing == radix::Sharing::kPages ? ", whole pages" : "") +
         (scenario.policy_one_in > 0 ? ", policies" : "") +
         (scenario.faults.any() ? ", faults" : "");
}

}  // namespace banyan::sim
