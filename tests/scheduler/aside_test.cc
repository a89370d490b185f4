// Requests with policies that are preempted: what is their own is put aside and comes back. Pages
// of four tokens.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/aside_space.h"
#include "scheduler/policies/policy.h"
#include "tests/scheduler/fixture.h"
#include "tests/scheduler/under_policy.h"

namespace banyan::scheduler {
namespace {

using Type = KvPolicy::Type;

constexpr KvPolicy kPolicies[] = {{.type = Type::kStreaming, .sinks = 4, .window = 8},
                                  {.type = Type::kH2o, .budget = 12, .observe = 5},
                                  {.type = Type::kScissorhands, .budget = 12, .observe = 5},
                                  {.type = Type::kSnapKv, .budget = 12, .observe = 5}};

// One answers under a policy, and is preempted behind its exact tokens by one that came first.
class Pressed {
 public:
  explicit Pressed(const KvPolicy& policy, std::int64_t max_pages_aside = 1024)
      : engine_({.pages = 32, .headroom_tokens = 1, .max_pages_aside = max_pages_aside}) {
    first_ = engine_.Submit(Prompt(1, 40), 88);
    engine_.Step();
    lossy_ = engine_.Submit(AskUnder(Prompt(2, 20), 95, policy));
    while (!engine_[lossy_].finished()) {
      const Batch& batch = engine_.Begin();
      if (engine_[lossy_].observed.preempted > 0) {
        saved_ = static_cast<std::int64_t>(batch.saves.size());
        return;
      }
      engine_.End();
    }
  }

  // The step that preempts it is in flight.
  bool was_preempted() const { return saved_ >= 0; }
  std::int64_t saved() const { return saved_; }  // pages
  const Answer& lossy() { return engine_[lossy_]; }
  RequestId lossy_id() const { return lossy_; }
  Engine& engine() { return engine_; }
  std::int64_t recomputed() { return engine_.scheduler().stats().recomputed_tokens; }
  void ExpectWhole() {
    scheduler::ExpectWhole(lossy());
    EXPECT_EQ(engine_[first_].tokens, Expected(Prompt(1, 40), 88).tokens);
    EXPECT_EQ(engine_.HeldPages(), 0);
  }

 private:
  Engine engine_;
  RequestId first_{};
  RequestId lossy_{};
  std::int64_t saved_ = -1;
};

TEST(Aside, WhatIsItsOwnComesBackAndNothingIsComputedAgain) {
  for (const KvPolicy& policy : kPolicies) {
    SCOPED_TRACE(Name(policy.type));
    Pressed pressed(policy);
    ASSERT_TRUE(pressed.was_preempted());
    EXPECT_GT(pressed.saved(), 0);
    pressed.engine().End();
    pressed.engine().Run();
    EXPECT_EQ(pressed.recomputed(), 0);
    EXPECT_GT(pressed.lossy().usage.preemptions, 0);
    const auto made = MakePolicy(policy, 4, 16);
    EXPECT_EQ(pressed.lossy().usage.dropped_tokens, made->dropped_tokens(20, 114)) << "once";
    pressed.ExpectWhole();
  }
}

TEST(Aside, WhereThereIsNoRoomItIsComputedAgain) {
  for (const KvPolicy& policy : kPolicies) {
    SCOPED_TRACE(Name(policy.type));
    const std::int64_t pages = Pressed(policy).saved();
    for (const std::int64_t room : {pages + 1, pages, pages - 1, std::int64_t{0}}) {
      Pressed pressed(policy, room);
      ASSERT_TRUE(pressed.was_preempted());
      EXPECT_EQ(pressed.saved(), room < pages ? 0 : pages) << room;
      pressed.engine().End();
      pressed.engine().Run();
      EXPECT_EQ(pressed.recomputed() > 0, room < pages) << room;
      pressed.ExpectWhole();
    }
  }
}

TEST(Aside, WhatAFailedStepWasToSaveIsComputedAgain) {
  for (const KvPolicy& policy : kPolicies) {
    SCOPED_TRACE(Name(policy.type));
    Pressed pressed(policy);
    ASSERT_GT(pressed.saved(), 0);
    pressed.engine().EndFailed();
    pressed.engine().Run();
    EXPECT_GT(pressed.recomputed(), 0);
    ExpectWhole(pressed.lossy());
  }
}

TEST(Aside, WhoIsCancelledMeanwhileLeavesNothing) {
  for (const KvPolicy& policy : kPolicies) {
    SCOPED_TRACE(Name(policy.type));
    Pressed pressed(policy);
    ASSERT_GT(pressed.saved(), 0);
    pressed.engine().Cancel(pressed.lossy_id());
    pressed.engine().End();
    EXPECT_EQ(pressed.lossy().reason, FinishReason::kCancelled);
    pressed.engine().Run();
    EXPECT_EQ(pressed.engine().HeldPages(), 0);
  }
}

// With nobody left who would run.
TEST(Aside, WhereAllAreCancelledAStepForgetsIt) {
  for (const KvPolicy& policy : kPolicies) {
    SCOPED_TRACE(Name(policy.type));
    Pressed pressed(policy);
    ASSERT_GT(pressed.saved(), 0);
    pressed.engine().End();
    for (const auto& [id, answer] : pressed.engine().answers()) pressed.engine().Cancel(id);
    EXPECT_EQ(pressed.engine().model().pages_aside(), pressed.saved());
    const Batch& batch = pressed.engine().Begin();
    EXPECT_EQ(std::ssize(batch.forgets), pressed.saved());
    EXPECT_TRUE(batch.sequences.empty());
    pressed.engine().End();
    EXPECT_EQ(pressed.engine().model().pages_aside(), 0);
    EXPECT_TRUE(pressed.engine().Begin().empty());
  }
}

TEST(Aside, AFlushChangesNothingOfIt) {
  for (const KvPolicy& policy : kPolicies) {
    SCOPED_TRACE(Name(policy.type));
    Pressed pressed(policy);
    ASSERT_GT(pressed.saved(), 0);
    pressed.engine().End();
    radix::PrefixCache& cache = pressed.engine().cache();
    cache.Flush(cache.OpenNamespace(NamespaceName("", "")));
    pressed.engine().Run();
    pressed.ExpectWhole();
  }
}

TEST(AsideSpace, HasPlacesForSoManyRequests) {
  AsideSpace space(kMaxJobsAside + 10);
  std::vector<Job> jobs(kMaxJobsAside + 1);
  for (std::int32_t i = 0; i < kMaxJobsAside; ++i) ASSERT_TRUE(space.Put(jobs[i], 1, 1)) << i;
  Job& last = jobs.back();
  EXPECT_FALSE(space.Put(last, 1, 1));
  EXPECT_FALSE(last.aside.has_value());
  space.Forget(jobs.front());
  EXPECT_TRUE(space.Put(last, 1, 1));
  EXPECT_EQ(space.pages(), kMaxJobsAside);
}

// Many in one small pool, which come back again and again, and take each other's places.
TEST(Aside, ManyTakeTurns) {
  for (const std::int64_t room : {0, 5, 12, 1024}) {
    SCOPED_TRACE(room);
    Engine engine({.pages = 24, .headroom_tokens = 1, .max_pages_aside = room});
    std::vector<RequestId> ids;
    for (int i = 0; i < 12; ++i) {
      std::vector<TokenId> prompt = Prompt(1 + i, 4 + static_cast<std::size_t>(i));
      ids.push_back(engine.Submit(AskUnder(std::move(prompt), 30 + 3 * i, kPolicies[i % 4])));
    }
    engine.Run();
    for (const RequestId id : ids) ExpectWhole(engine[id]);
    EXPECT_GT(engine.scheduler().stats().preemptions, 0);
    EXPECT_EQ(engine.HeldPages(), 0);
  }
}

}  // namespace
}  // namespace banyan::scheduler
