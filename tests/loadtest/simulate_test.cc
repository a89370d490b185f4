// The event loop: times that can be worked out by hand, and what holds for any workload.
#include "loadtest/simulate/simulate.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/loadtest/simulate_fixture.h"

namespace banyan::loadtest {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr CostModel kCost{.step = 1'000'000,
                          .prompt_token = 1000,
                          .prompt_context = 1,
                          .decode_token = 10'000,
                          .decode_context = 10,
                          .request = 500'000};

SimulateOptions Small() {
  SimulateOptions options;
  options.page_tokens = 4;
  options.cost = kCost;
  return options;
}

SimulatedRow Simulated(const Workload& workload, const SimulateOptions& options) {
  auto row = Simulate(workload, options);
  EXPECT_TRUE(row.ok()) << row.status();
  return row.ok() ? *std::move(row) : SimulatedRow();
}

// The first asks twice; nothing of one waits for the other.
//
//   A1  sent 0, submitted 0.5 ms; 10 tokens: 1 ms + 10 us + 45 ns, ends at 1,510,045
//       one token beside 10: 1 ms + 10 us + 100 ns, ends at 2,520,145
//   A2  sent 1 ms later, submitted at 4,020,145; of its 15 tokens the tree has the prompt and the
//       first token of the answer: 4 tokens from the 12th on: 1 ms + 4 us + 50 ns, ends at
//       5,024,195
//   B   sent at 5 ms, submitted at 5.5 ms; 6 tokens: 1 ms + 6 us + 15 ns, ends at 6,506,015
TEST(Simulate, TimesAreThoseOfTheCostModel) {
  Turn second = Ask(std::nullopt, {{2, 3}}, 1);
  second.think = milliseconds(1);
  const SimulatedRow row = Simulated(
      Of({Talk({Ask(Tick(0), {{1, 10}}, 2), second}), Talk({Ask(milliseconds(5), {{3, 6}}, 1)})}),
      Small());
  EXPECT_EQ(row.requests, 3);
  EXPECT_EQ(row.refused, 0);
  EXPECT_EQ(row.prompt_tokens, 10 + 15 + 6);
  EXPECT_EQ(row.cached_tokens, 11);
  ASSERT_TRUE(row.summary.has_value());
  const Summary& summary = *row.summary;
  EXPECT_EQ(summary.measured, Tick(6'506'015));
  EXPECT_EQ(summary.all.requests, 3);
  EXPECT_EQ(summary.all.ttft.min(), 5'024'195 - 3'520'145);
  EXPECT_EQ(summary.all.ttft.max(), 1'510'045);
  EXPECT_DOUBLE_EQ(summary.all.ttft.mean(), (1'510'045 + 1'504'050 + 1'506'015) / 3.0);
  EXPECT_EQ(summary.all.latency.max(), 2'520'145);
  EXPECT_EQ(summary.inter_token.count(), 1);
  EXPECT_EQ(summary.inter_token.max(), 1'010'100);
  EXPECT_EQ(summary.by_turn.at(2).ttft.max(), 1'504'050);
  EXPECT_EQ(summary.output_tokens, 4);
  EXPECT_EQ(row.most_pages, 5);  // A2's 15 tokens, and the tail that it copies from
}

TEST(Simulate, RequestsOfOneMomentShareAStep) {
  const SimulatedRow row = Simulated(
      Of({Talk({Ask(Tick(0), {{1, 10}}, 1)}), Talk({Ask(Tick(0), {{2, 6}}, 1)})}), Small());
  EXPECT_EQ(row.summary->all.ttft.min(), 500'000 + 1'000'000 + 16'000 + 45 + 15);
  EXPECT_EQ(row.summary->all.ttft.max(), row.summary->all.ttft.min());
}

TEST(Simulate, WhoArrivesDuringAStepWaitsForItsEnd) {
  const SimulatedRow row = Simulated(
      Of({Talk({Ask(Tick(0), {{1, 10}}, 1)}), Talk({Ask(Tick(1), {{2, 6}}, 1)})}), Small());
  EXPECT_EQ(row.summary->all.ttft.min(), 1'510'045);
  EXPECT_EQ(row.summary->all.ttft.max(), 1'510'045 + 1'006'015 - 1);
}

TEST(Simulate, WithTwoReplicasNobodyWaits) {
  SimulateOptions options = Small();
  options.replicas = 2;
  options.routing = Routing::kLeastLoaded;
  const SimulatedRow row = Simulated(
      Of({Talk({Ask(Tick(0), {{1, 10}}, 1)}), Talk({Ask(Tick(1), {{2, 6}}, 1)})}), options);
  EXPECT_EQ(row.summary->all.ttft.min(), 1'506'015);
  EXPECT_EQ(row.summary->all.ttft.max(), 1'510'045);
}

// A turn that has a time of its own is sent when the answer before is there, if that is later.
TEST(Simulate, ATurnWaitsForTheAnswerBefore) {
  const SimulatedRow row = Simulated(
      Of({Talk({Ask(Tick(0), {{1, 10}}, 1), Ask(milliseconds(1), {{2, 4}}, 1)})}), Small());
  EXPECT_EQ(row.summary->queueing.max(), 1'510'045 - 1'000'000);
  EXPECT_GT(row.summary->all.ttft_scheduled.max(), row.summary->all.ttft.max());
}

// The rendezvous of the real scheduler: one computes, the others follow.
TEST(Simulate, OfEqualPromptsAtOnceOneIsComputed) {
  std::vector<Conversation> same(5, Talk({Ask(Tick(0), {{1, 21}}, 3)}));
  const SimulatedRow row = Simulated(Of(same), Small());
  EXPECT_EQ(row.prompt_tokens, 5 * 21);
  EXPECT_EQ(row.cached_tokens, 4 * 20);
}

TEST(Simulate, AnswersOfUnknownLengthHaveOne) {
  const SimulatedRow row = Simulated(Of({Talk({Ask(Tick(0), {{1, 10}}, 0)})}), Small());
  EXPECT_EQ(row.summary->output_tokens, 256);
}

TEST(Simulate, TextSharesItsBeginning) {
  Turn first = Ask(Tick(0), {}, 1);
  first.messages[0].text = "You are a helpful assistant. What is a tree?";
  Turn second = Ask(milliseconds(9), {}, 1);
  second.messages[0].text = "You are a helpful assistant. Is it green?";
  const SimulatedRow row = Simulated(Of({Talk({first}), Talk({second})}), Small());
  EXPECT_EQ(row.prompt_tokens, 11 + 11);
  EXPECT_EQ(row.cached_tokens, 7);  // "You are a helpful assistant." has 28 bytes
}

TEST(Simulate, PromptsThatCannotFitAreRefusedAtTheBound) {
  const auto refused = [](std::int32_t prompt, std::int64_t pages, std::int64_t context) {
    SimulateOptions options = Small();
    options.pool_pages = pages;
    options.scheduler.context_length = context;
    return Simulated(Of({Talk({Ask(Tick(0), {{1, prompt}}, 1)})}), options).refused;
  };
  EXPECT_EQ(refused(6, 2, 0), 0);
  EXPECT_EQ(refused(7, 2, 0), 0);
  EXPECT_EQ(refused(8, 2, 0), 1);  // no room for its answer
  EXPECT_EQ(refused(8, 2, 100), 1);
  EXPECT_EQ(refused(8, 0, 10), 0);
  EXPECT_EQ(refused(9, 0, 10), 0);
  EXPECT_EQ(refused(10, 0, 10), 1);
}

TEST(Simulate, TurnsAfterARefusedOneAreRefusedToo) {
  SimulateOptions options = Small();
  options.pool_pages = 3;
  const SimulatedRow row =
      Simulated(Of({Talk({Ask(Tick(0), {{1, 5}}, 1), Ask(std::nullopt, {{2, 9}}, 1),
                          Ask(std::nullopt, {{3, 1}}, 1)}),
                    Talk({Ask(milliseconds(50), {{4, 5}}, 1)})}),
                options);
  EXPECT_EQ(row.requests, 4);
  EXPECT_EQ(row.refused, 2);
  EXPECT_EQ(row.summary->all.requests, 2);
  EXPECT_EQ(row.summary->failed(), 2);
}

TEST(Simulate, OptionsOutOfTheirBoundsAreNamed) {
  const auto message = [](auto change) {
    SimulateOptions options = Small();
    change(options);
    const auto row = Simulate(Of({Talk({Ask(Tick(0), {{1, 5}}, 1)})}), options);
    EXPECT_EQ(row.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(row.status().message());
  };
  EXPECT_THAT(message([](auto& o) { o.page_tokens = 0; }), HasSubstr("tokens of a page"));
  EXPECT_THAT(message([](auto& o) { o.page_tokens = 1025; }), HasSubstr("tokens of a page"));
  EXPECT_THAT(message([](auto& o) { o.pool_pages = (1 << 26) + 1; }), HasSubstr("pages of a pool"));
  EXPECT_THAT(message([](auto& o) { o.replicas = 0; }), HasSubstr("replicas"));
  EXPECT_THAT(message([](auto& o) { o.replicas = kMaxReplicas + 1; }), HasSubstr("replicas"));
  EXPECT_THAT(message([](auto& o) { o.scheduler.max_running = o.scheduler.max_batch_tokens; }),
              HasSubstr("tokens of a step"));
}

// Whatever the policy and the routing: every request is finished or refused, and what was asked for
// is what was answered.
TEST(Simulate, EveryRequestIsFinishedOrRefused) {
  const Workload workload = RandomWorkload(7, 60);
  bool preempted = false;
  bool refused = false;
  for (const std::int64_t pages : {30, 60, 200, 0}) {
    for (const radix::Eviction eviction : radix::kEvictions) {
      // Nothing is evicted there.
      if (pages == 0 && eviction != radix::Eviction::kLru) continue;
      for (const Routing routing : {Routing::kRoundRobin, Routing::kLeastLoaded,
                                    Routing::kPrefixAware, Routing::kConsistentHash}) {
        SimulateOptions options = Small();
        options.pool_pages = pages;
        options.eviction = eviction;
        options.routing = routing;
        options.replicas = 2;
        options.scheduler.headroom_tokens = 1;
        const SimulatedRow row = Simulated(workload, options);
        ASSERT_EQ(row.requests, CountTurns(workload));
        ASSERT_EQ(row.summary->all.requests + row.refused, row.requests);
        ASSERT_LE(row.cached_tokens, row.prompt_tokens - row.summary->all.requests);
        if (pages > 0) {
          ASSERT_LE(row.most_pages, pages);
        } else {
          ASSERT_EQ(row.evicted_pages + row.preemptions, 0);
        }
        preempted |= row.preemptions > 0;
        refused |= row.refused > 0;
      }
    }
  }
  EXPECT_TRUE(preempted);
  EXPECT_TRUE(refused);
}

TEST(Simulate, TheSameAgainIsTheSame) {
  const Workload workload = RandomWorkload(3, 40);
  SimulateOptions options = Small();
  options.pool_pages = 60;
  options.replicas = 3;
  options.routing = Routing::kPrefixAware;
  const SimulatedRow first = Simulated(workload, options);
  const SimulatedRow second = Simulated(workload, options);
  EXPECT_EQ(first.cached_tokens, second.cached_tokens);
  EXPECT_EQ(first.preemptions, second.preemptions);
  EXPECT_EQ(first.evicted_pages, second.evicted_pages);
  EXPECT_EQ(first.summary->measured, second.summary->measured);
  EXPECT_EQ(first.summary->all.latency.Buckets(), second.summary->all.latency.Buckets());
}

// Conversations whose turns meet their own pages again, and those that are spread over replicas.
TEST(Simulate, RoutingByPrefixAndByHashHitMoreThanRoundRobin) {
  const Workload workload = RandomWorkload(11, 80);
  const auto hit_rate = [&](Routing routing) {
    SimulateOptions options = Small();
    options.replicas = 4;
    options.routing = routing;
    return Simulated(workload, options).hit_rate;
  };
  const double spread = hit_rate(Routing::kRoundRobin);
  EXPECT_GT(hit_rate(Routing::kPrefixAware), spread + 0.05);
  EXPECT_GT(hit_rate(Routing::kConsistentHash), spread + 0.05);
}

}  // namespace
}  // namespace banyan::loadtest
