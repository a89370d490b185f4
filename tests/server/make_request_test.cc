// What the engine is asked for what a route was asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "server/openai/generation.h"

namespace banyan::server::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;

class MakeRequestTest : public ::testing::Test {
 protected:
  MakeRequestTest() {
    model_.codec = text::Codec::ForBytes();
    model_.facts.every_layer_sees_all = true;
    model_.facts.compacts = true;
    model_.scheduling.context_length = 100;
    model_.cache.pages = 50;
    model_.cache.page_size = 16;
  }
  Result<scheduler::Request> Make(const Generation& generation, std::size_t prompt_tokens = 10) {
    const auto policy = PolicyFor(model_, generation.kv_policy, generation.prompt_scores);
    if (!policy.ok()) return policy.error();
    return MakeRequest(service_, model_, generation, *policy,
                       std::vector<TokenId>(prompt_tokens, 7), "messages");
  }

  SteadyClock clock_;
  Metrics metrics_{"null"};
  Service service_{"null", clock_, metrics_};
  ServedModel model_;
};

TEST_F(MakeRequestTest, TheContextIsTheBoundWhereNoneIsGiven) {
  Generation generation;
  EXPECT_EQ(Make(generation)->max_tokens, 90);
  generation.default_max_tokens = 16;
  EXPECT_EQ(Make(generation)->max_tokens, 16);
  EXPECT_EQ(Make(generation, 95)->max_tokens, 5) << "a default is cut, it was not asked for";
}

TEST_F(MakeRequestTest, TheFieldThatAskedForTooMuchIsNamed) {
  Generation generation;
  generation.max_tokens_field = "max_completion_tokens";
  for (const std::int64_t tokens : {0, 1, 89, 90}) {
    generation.max_tokens = tokens;
    EXPECT_EQ(Make(generation)->max_tokens, tokens);
  }
  for (const std::int64_t tokens : {std::int64_t{91}, kNoLimit}) {
    generation.max_tokens = tokens;
    const auto refused = Make(generation);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, "context_length_exceeded");
    EXPECT_EQ(refused.error().param, "max_completion_tokens");
  }
}

TEST_F(MakeRequestTest, APromptThatLeavesNoRoomIsTheFault) {
  EXPECT_TRUE(Make({}, 98).ok());
  EXPECT_TRUE(Make({}, 99).ok());
  const auto refused = Make({}, 100);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "context_length_exceeded");
  EXPECT_EQ(refused.error().param, "messages");
}

TEST_F(MakeRequestTest, MinTokensMustFitToo) {
  Generation generation;
  generation.min_tokens = 90;
  EXPECT_EQ(Make(generation)->min_tokens, 90);
  generation.min_tokens = 91;
  const auto refused = Make(generation);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "context_length_exceeded");
  EXPECT_EQ(refused.error().param, "min_tokens");
}

constexpr scheduler::KvPolicy kStreaming{.sinks = 4, .window = 32};

// One that asks for that; for everything, without one.
Generation Under(const std::optional<scheduler::KvPolicy>& policy) {
  Generation generation;
  generation.kv_policy = {.is_given = true, .policy = policy};
  return generation;
}

TEST_F(MakeRequestTest, APolicyLiftsTheContext) {
  Generation generation = Under(kStreaming);
  generation.max_tokens = 1'000'000;
  const auto request = Make(generation, 5000);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->kv_policy, kStreaming);
  EXPECT_EQ(request->max_tokens, 1'000'000);
  generation.max_tokens = scheduler::kMaxPolicyTokens - 5000;
  EXPECT_TRUE(Make(generation, 5000).ok());
  ++*generation.max_tokens;
  EXPECT_EQ(Make(generation, 5000).error().code, "context_length_exceeded");
}

TEST_F(MakeRequestTest, UnderAPolicyAnAnswerWhoseLengthNobodyGaveEndsAfterAContextsTokens) {
  Generation generation = Under(kStreaming);
  EXPECT_EQ(Make(generation, 5000)->max_tokens, 100);
  generation.min_tokens = 300;
  EXPECT_EQ(Make(generation, 5000)->max_tokens, 300);
  generation.default_max_tokens = 16;
  generation.min_tokens = 0;
  EXPECT_EQ(Make(generation, 5000)->max_tokens, 16);
}

TEST_F(MakeRequestTest, WhoSaysNothingHasTheServersPolicy) {
  EXPECT_EQ(Make({})->kv_policy, std::nullopt);
  model_.kv_policy = kStreaming;
  EXPECT_EQ(Make({})->kv_policy, kStreaming);
  EXPECT_EQ(Make(Under(std::nullopt))->kv_policy, std::nullopt) << "exact";
  const scheduler::KvPolicy other{.sinks = 2, .window = 20};
  EXPECT_EQ(Make(Under(other))->kv_policy, other);
}

TEST_F(MakeRequestTest, APromptIsScoredWithAllThatIsBefore) {
  model_.kv_policy = kStreaming;
  Generation generation;
  generation.prompt_scores = PromptScores::kWanted;
  EXPECT_EQ(Make(generation)->kv_policy, std::nullopt);
  EXPECT_TRUE(Make(generation)->score_prompt);
  generation.kv_policy = {.is_given = true, .policy = kStreaming};
  EXPECT_EQ(Make(generation).error().param, "kv_policy");
}

TEST_F(MakeRequestTest, APolicyThatCannotBeIsNamed) {
  const auto refused = [&](const scheduler::KvPolicy& policy) {
    const auto request = Make(Under(policy));
    if (request.ok()) return Invalid("", "accepted");
    EXPECT_EQ(request.error().code, "invalid_request");
    EXPECT_EQ(request.error().param, "kv_policy");
    return request.error();
  };
  EXPECT_EQ(refused({.sinks = 8, .window = 7}).message,
            "'kv_policy' cannot be: the window of 7 tokens is smaller than the sinks, 8.");
  EXPECT_EQ(
      refused({.sinks = 4, .window = 97}).message,
      "'kv_policy' cannot be: 4 sinks and a window of 97 tokens are over the context of 100.");
  model_.cache.pages = 5;
  EXPECT_THAT(refused({.sinks = 4, .window = 90}).message, HasSubstr("over the KV pool of 5"));
  model_.cache.pages = 100;
  model_.facts.compacts = false;
  model_.facts.kv_dtype = "int4";
  const scheduler::KvPolicy budget{.type = scheduler::KvPolicy::Type::kSnapKv, .budget = 50};
  EXPECT_EQ(refused(budget).message,
            "'kv_policy' cannot be: a snapkv policy keeps single tokens, which the int4 pages of "
            "this model cannot.");
  scheduler::KvPolicy quest{.type = scheduler::KvPolicy::Type::kQuest, .budget = 50};
  EXPECT_EQ(
      refused(quest).message,
      "'kv_policy' cannot be: a quest policy chooses pages by the bounds of their keys, which "
      "the int4 pages of this model cannot.");
  model_.facts.compacts = true;
  model_.facts.layers = 3;
  quest.dense_layers = 3;
  EXPECT_EQ(refused(quest).message,
            "'kv_policy' cannot be: with 3 dense_layers none of the model's 3 would choose pages.");
  quest.dense_layers = 2;
  quest.budget = 15;
  EXPECT_EQ(refused(quest).message,
            "'kv_policy' cannot be: the budget of 15 tokens is less than a page, which has 16.");
  model_.facts.every_layer_sees_all = false;
  EXPECT_THAT(refused(kStreaming).message, HasSubstr("layers have windows of their own"));
}

TEST_F(MakeRequestTest, StopTokensEndTheAnswerAlsoWhenItsOwnEndIsIgnored) {
  Generation generation;
  const std::vector<TokenId> ends(model_.codec->end_tokens().begin(),
                                  model_.codec->end_tokens().end());
  EXPECT_EQ(Make(generation)->end_tokens, ends);
  generation.stop_token_ids = {9, 3, 9, ends.front()};
  std::vector<TokenId> both = {3, 9};
  both.insert(both.end(), ends.begin(), ends.end());
  EXPECT_EQ(Make(generation)->end_tokens, both) << "sorted, each once";
  generation.ignore_eos = true;
  EXPECT_THAT(Make(generation)->end_tokens, ElementsAre(3, 9, ends.front()));
  generation.stop_token_ids = {};
  EXPECT_TRUE(Make(generation)->end_tokens.empty());
}

TEST_F(MakeRequestTest, SeedsAreThoseGivenAndElseEachTheirOwn) {
  Generation generation;
  EXPECT_NE(Make(generation)->sampling.seed, Make(generation)->sampling.seed);
  generation.seed = 5;
  EXPECT_EQ(Make(generation)->sampling.seed, 5U);
  EXPECT_NE(Make(generation)->id, Make(generation)->id);
}

TEST_F(MakeRequestTest, SaltAndPriorityAreHandedOnAndTheTenantIsTheDefaultOne) {
  Generation generation;
  generation.cache_salt = "team-7";
  generation.priority = 9;
  const auto request = Make(generation);
  EXPECT_EQ(request->cache_salt, "team-7");
  EXPECT_EQ(request->priority, 9);
  EXPECT_EQ(request->tenant, "") << "a salt is nobody's identity";
  EXPECT_EQ(Make({})->cache_salt, "");
}

TEST_F(MakeRequestTest, WhatIsSampledIsHandedOn) {
  Generation generation;
  generation.sampling.top_k = 3;
  generation.logit_bias = {{.token = 4, .bias = 1}};
  generation.logprobs = 5;
  const auto request = Make(generation);
  EXPECT_EQ(request->sampling.top_k, 3);
  EXPECT_THAT(request->logit_bias, ElementsAre(FieldsAre(4, 1.0F)));
  EXPECT_TRUE(request->wants_logprobs);
  EXPECT_EQ(request->top_logprobs, 5);
  EXPECT_FALSE(request->score_prompt);
}

}  // namespace
}  // namespace banyan::server::openai
