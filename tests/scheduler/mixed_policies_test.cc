// Requests of all kinds over common prefixes, in a pool that is too small for all of them: each is
// answered as if it were alone.
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"
#include "tests/scheduler/under_policy.h"

namespace banyan::scheduler {
namespace {

using Type = KvPolicy::Type;

class Mixture {
 public:
  explicit Mixture(std::uint32_t seed) : random_(seed) {}

  int Below(std::uint32_t bound) { return static_cast<int>(random_() % bound); }

  // None, or one of any type that passes CheckPolicy.
  std::optional<KvPolicy> SomePolicy(std::int32_t page_size) {
    constexpr Type kTypes[] = {Type::kStreaming, Type::kH2o, Type::kScissorhands, Type::kSnapKv,
                               Type::kQuest};
    const auto type = static_cast<std::size_t>(Below(std::size(kTypes) + 1));
    if (type == std::size(kTypes)) return std::nullopt;
    KvPolicy policy{.type = kTypes[type], .sinks = Below(4), .window = 4 + Below(12)};
    policy.budget =
        policy.type == Type::kQuest ? page_size * (1 + Below(5)) + Below(3) : 1 + Below(20);
    policy.observe = 1 + Below(8);
    policy.history = 1 + Below(64);
    return policy;
  }

  Ask SomeAsk(std::int32_t page_size) {
    Ask ask;
    ask.prompt = Join(Prompt(1 + Below(2), static_cast<std::size_t>(1 + Below(30))),
                      Prompt(3 + Below(3), static_cast<std::size_t>(Below(20))));
    ask.max_tokens = 1 + Below(40);
    ask.kv_policy = SomePolicy(page_size);
    return ask;
  }

 private:
  std::mt19937 random_;
};

TEST(MixedPolicies, EachIsAnsweredAlike) {
  std::int64_t preemptions = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Mixture some(seed);
    const std::int32_t page_size = 1 + some.Below(6);
    Engine engine({.page_size = page_size,
                   .pages = 40 + some.Below(60),
                   .max_batch_tokens = 6 + some.Below(20),
                   .headroom_tokens = 1});
    std::vector<RequestId> ids;
    for (int i = 0; i < 12; ++i) {
      ids.push_back(engine.Submit(some.SomeAsk(page_size)));
      for (int steps = some.Below(6); steps > 0; --steps) engine.Step();
      if (some.Below(6) == 0) engine.Cancel(ids[static_cast<std::size_t>(some.Below(ids.size()))]);
    }
    engine.Run();
    for (const RequestId id : ids) {
      const Answer& answer = engine[id];
      preemptions += answer.usage.preemptions;
      EXPECT_EQ(answer.tokens, Alone(answer.ask, std::ssize(answer.tokens), page_size));
    }
    EXPECT_EQ(engine.HeldPages(), 0);
    if (HasFailure()) return;
  }
  EXPECT_GT(preemptions, 0);
}

}  // namespace
}  // namespace banyan::scheduler
