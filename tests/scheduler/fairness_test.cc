// Who is admitted, and how much of the work each tenant gets, as clients see it.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

using std::chrono::seconds;

// One request at a time, so that the order of admission is the order of service.
EngineOptions OneByOne() {
  EngineOptions options;
  options.max_running = 1;
  options.ageing = seconds(1'000'000);
  return options;
}

Ask AskFor(std::vector<TokenId> prompt, std::int64_t max_tokens, const std::string& tenant = "",
           std::int32_t priority = 0) {
  Ask ask;
  ask.prompt = std::move(prompt);
  ask.max_tokens = max_tokens;
  ask.tenant = tenant;
  ask.priority = priority;
  return ask;
}

const std::vector<TokenId> kHot = Prompt(1, 16);

// An engine with hot prompts, of which most is cached and some always wait, and cold ones.
class HotAndCold {
 public:
  explicit HotAndCold(const EngineOptions& options) : engine_(options) {
    engine_.Submit(kHot, 1);
    engine_.Run();
    engine_.Submit(kHot, 2);  // runs when the others come
    engine_.Step();
  }

  RequestId SubmitCold(const std::string& tenant = "") {
    return engine_.Submit(AskFor(Prompt(++cold_ + 1, 8), 1, tenant));
  }
  // One step, with hot requests that wait. How many of them have been admitted in all.
  int Step() {
    while (waiting_hot() < 3) {
      hot_.push_back(engine_.Submit(Join(kHot, Prompt(static_cast<int>(hot_.size()), 1)), 1));
    }
    engine_.Step();
    return static_cast<int>(hot_.size()) - waiting_hot();
  }
  bool Admitted(RequestId request) { return engine_[request].admitted; }
  Engine& engine() { return engine_; }

 private:
  int waiting_hot() {
    return static_cast<int>(
        std::count_if(hot_.begin(), hot_.end(), [&](RequestId hot) { return !Admitted(hot); }));
  }

  Engine engine_;
  std::vector<RequestId> hot_;
  int cold_ = 0;
};

class PassOver : public testing::TestWithParam<std::int32_t> {};

TEST_P(PassOver, AFloodOfHotPromptsPassesAColdOneSoOftenAndNotOnceMore) {
  EngineOptions options = OneByOne();
  options.max_passes = GetParam();
  HotAndCold load(options);
  const RequestId cold = load.SubmitCold();
  int passed_by = 0;
  for (int step = 0; step < 200 && !load.Admitted(cold); ++step) passed_by = load.Step();
  EXPECT_TRUE(load.Admitted(cold));
  EXPECT_EQ(passed_by, GetParam());
  EXPECT_EQ(load.engine().scheduler().stats().passes, GetParam());
  load.engine().Run();
}

TEST_P(PassOver, EachOfManyColdOnesIsAdmittedWithinItsBound) {
  EngineOptions options = OneByOne();
  options.max_passes = GetParam();
  HotAndCold load(options);
  std::vector<RequestId> cold;
  for (int i = 0; i < 5; ++i) cold.push_back(load.SubmitCold());
  for (int older = 0; older < 5; ++older) {
    const RequestId request = cold[static_cast<std::size_t>(older)];
    int hot = 0;
    for (int step = 0; step < 1'000 && !load.Admitted(request); ++step) hot = load.Step();
    EXPECT_TRUE(load.Admitted(request));
    EXPECT_LE(hot + older + 1, (older + 1) * (GetParam() + 1));
  }
  load.engine().Run();
}

INSTANTIATE_TEST_SUITE_P(Fairness, PassOver, testing::Values(0, 1, 2, 7));

TEST(Fairness, AColdTenantWaitsOneTurnOfAFloodHoweverHot) {
  EngineOptions options = OneByOne();
  options.max_passes = 1'000'000;
  options.quantum = 8;  // a hot prompt costs one or two tokens
  HotAndCold load(options);
  for (int step = 0; step < 50; ++step) load.Step();
  const int before = load.Step();
  const RequestId cold = load.SubmitCold("quiet");
  int after = before;
  for (int step = 0; step < 200 && !load.Admitted(cold); ++step) after = load.Step();
  EXPECT_TRUE(load.Admitted(cold));
  EXPECT_LE(after - before, 8);
  load.engine().Run();
}

TEST(Fairness, HigherPrioritiesAreAdmittedFirst) {
  Engine engine(OneByOne());
  engine.Submit(Prompt(1, 8), 2);
  engine.Step();
  std::map<RequestId, int> order;
  std::vector<RequestId> requests;
  for (const std::int32_t priority : {0, 9, 5, 5}) {
    const int which = static_cast<int>(requests.size()) + 2;
    requests.push_back(engine.Submit(AskFor(Prompt(which, 8), 1, "", priority)));
  }
  while (engine.Step()) {
    for (const RequestId request : requests) {
      if (engine[request].admitted) order.emplace(request, static_cast<int>(order.size()));
    }
  }
  EXPECT_EQ(order[requests[1]], 0);
  EXPECT_EQ(order[requests[2]], 1);
  EXPECT_EQ(order[requests[3]], 2);
  EXPECT_EQ(order[requests[0]], 3);
}

// Of a steady stream of urgent requests one always waits, and each takes a step of a second.
TEST(Fairness, AgeingBringsALowPriorityThroughAStreamOfHighOnes) {
  for (const std::int32_t priority : {1, 3, 9}) {
    EngineOptions options = OneByOne();
    options.ageing = seconds(10);
    Engine engine(options);
    engine.Submit(Prompt(1, 8), 2);
    engine.Step();
    const RequestId low = engine.Submit(Prompt(2, 8), 1);
    int waited = 0;
    for (;; ++waited) {
      ASSERT_LE(waited, 200);
      engine.Submit(AskFor(Prompt(3 + waited, 8), 1, "", priority));
      const auto status = engine.scheduler().Inspect(low, Tick(seconds(waited)));
      EXPECT_EQ(status->aged_priority, std::min(waited / 10, 9));
      engine.Step();
      if (engine[low].admitted) break;
      engine.Advance(seconds(1));
    }
    EXPECT_EQ(waited, 10 * priority) << "then it is as urgent, and waits longer";
    engine.Run();
  }
}

struct Load {
  std::string tenant = {};
  std::size_t prompt = 0;
  std::int64_t output = 0;
  std::string salt = {};
};

// Each of the loads always has requests that wait. What is computed for each tenant.
std::map<std::string, std::int64_t> Share(const EngineOptions& options,
                                          const std::vector<Load>& loads, int steps,
                                          std::int64_t most_apart) {
  Engine engine(options);
  std::map<RequestId, std::size_t> from;
  std::vector<std::vector<RequestId>> waiting(loads.size());
  std::map<std::string, std::int64_t> tokens;
  for (const Load& load : loads) tokens[load.tenant] = 0;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < loads.size(); ++i) {
      std::erase_if(waiting[i], [&](RequestId request) { return engine[request].admitted; });
      while (waiting[i].size() < 8) {
        Ask ask = AskFor(Prompt(static_cast<int>(from.size()), loads[i].prompt), loads[i].output,
                         loads[i].tenant);
        ask.cache_salt = loads[i].salt;
        const RequestId request = engine.Submit(std::move(ask));
        from[request] = i;
        waiting[i].push_back(request);
      }
    }
    engine.Step();
    for (const Chunk& chunk : engine.chunks()) {
      tokens[loads[from.at(chunk.request)].tenant] += chunk.tokens;
    }
    const auto [least, most] =
        std::minmax_element(tokens.begin(), tokens.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_LE(most->second - least->second, most_apart) << "in step " << step;
    if (testing::Test::HasFailure()) break;
  }
  engine.Run();
  return tokens;
}

EngineOptions Uncached(std::int32_t max_running) {
  EngineOptions options;
  options.prefix_caching = PrefixCaching::kOff;
  options.max_running = max_running;
  options.ageing = seconds(1'000'000);
  options.quantum = 20;
  return options;
}

TEST(Fairness, TenantsGetTheSameTokensWhateverTheirRequestsLookLike) {
  const std::vector<Load> loads = {{"short", 3, 1}, {"long", 30, 5}};
  const auto tokens = Share(Uncached(1), loads, 1'000, 20 + 34);
  EXPECT_GT(tokens.at("short"), 1'000);
}

TEST(Fairness, TokensOfAnswersCountLikeThoseOfPrompts) {
  const std::vector<Load> loads = {{"asks", 24, 1}, {"talks", 2, 23}, {"both", 8, 8}};
  const auto tokens = Share(Uncached(1), loads, 1'500, 20 + 24);
  EXPECT_GT(tokens.at("talks"), 500);
}

// What runs is charged as it goes on: each running request may be ahead by what it costs.
TEST(Fairness, SharesHoldWhenManyRequestsRun) {
  const std::vector<Load> loads = {{"asks", 24, 1}, {"talks", 2, 23}, {"both", 8, 8}};
  const auto tokens = Share(Uncached(4), loads, 1'000, 20 + 4 * 24);
  EXPECT_GT(tokens.at("talks"), 500);
}

TEST(Fairness, SaltsDoNotMakeATenantMany) {
  const std::vector<Load> loads = {
      {"one", 8, 2}, {"many", 8, 2, "a"}, {"many", 8, 2, "b"}, {"many", 8, 2, "c"}};
  const auto tokens = Share(Uncached(1), loads, 500, 20 + 9);
  EXPECT_GT(tokens.at("one"), 500);
}

TEST(Fairness, WhoHadTheMachineForItselfOwesNothing) {
  Engine engine(Uncached(2));
  const RequestId alone = engine.Submit(AskFor(Prompt(1, 8), 200, "early"));
  for (int i = 0; i < 150; ++i) engine.Step();
  std::vector<RequestId> early;
  std::vector<RequestId> late;
  for (int i = 0; i < 6; ++i) {
    early.push_back(engine.Submit(AskFor(Prompt(2 + i, 20), 1, "early")));
    late.push_back(engine.Submit(AskFor(Prompt(20 + i, 20), 1, "late")));
  }
  engine.Cancel(alone);
  const auto admitted = [&](const std::vector<RequestId>& requests) {
    return std::count_if(requests.begin(), requests.end(),
                         [&](RequestId request) { return engine[request].admitted; });
  };
  while (engine.Step()) EXPECT_LE(std::abs(admitted(late) - admitted(early)), 1);
}

}  // namespace
}  // namespace banyan::scheduler
