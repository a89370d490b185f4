// How an answer is generated, said alike to both routes.
#include "server/openai/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_request.h"
#include "server/openai/unsupported.h"

namespace banyan::server::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::int32_t kVocabulary = 1000;

class GenerationTest : public ::testing::TestWithParam<Route> {
 protected:
  // Of a request that is good but for `members`.
  static Result<Generation> Parse(const std::string& members) {
    const std::string rest = absl::StrCat(members.empty() ? "" : ",", members, "}");
    if (GetParam() == Route::kChat) {
      Result<ChatRequest> chat =
          ParseChatRequest(absl::StrCat(R"({"messages":[{"role":"user","content":"Hi"}])", rest),
                           "smol", kVocabulary, /*now=*/0);
      if (!chat.ok()) return chat.error();
      return chat->generation;
    }
    Result<CompletionRequest> completion =
        ParseCompletionRequest(absl::StrCat(R"({"prompt":"Hi")", rest), "smol", kVocabulary);
    if (!completion.ok()) return completion.error();
    return completion->generation;
  }
  static Generation Accepted(const std::string& members) {
    Result<Generation> generation = Parse(members);
    if (generation.ok()) return *generation;
    ADD_FAILURE() << members << ": " << generation.error().message;
    return {};
  }
  static http::Error Refused(const std::string& members) {
    Result<Generation> generation = Parse(members);
    if (!generation.ok()) return generation.error();
    ADD_FAILURE() << "accepted: " << members;
    return {};
  }
};

INSTANTIATE_TEST_SUITE_P(Routes, GenerationTest,
                         ::testing::Values(Route::kChat, Route::kCompletions),
                         [](const auto& tested) {
                           return tested.param == Route::kChat ? "Chat" : "Completions";
                         });

TEST_P(GenerationTest, DefaultsAreThoseOfTheApi) {
  const Generation generation = Accepted("");
  EXPECT_FALSE(generation.max_tokens || generation.seed || generation.logprobs);
  EXPECT_EQ(generation.default_max_tokens, GetParam() == Route::kChat ? kNoLimit : 16);
  EXPECT_EQ(generation.min_tokens, 0);
  const SamplingParams& sampling = generation.sampling;
  EXPECT_EQ(sampling.temperature, 1.0F);
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(sampling.top_p, 1.0F);
  EXPECT_EQ(sampling.min_p, 0.0F);
  EXPECT_FALSE(sampling.penalizes());
  EXPECT_TRUE(generation.logit_bias.empty() && generation.stop.empty());
  EXPECT_TRUE(generation.stop_token_ids.empty());
  EXPECT_FALSE(generation.ignore_eos || generation.stream || generation.include_usage);
  EXPECT_EQ(generation.cache_salt, "");
  EXPECT_EQ(generation.priority, 0);
}

TEST_P(GenerationTest, EveryFieldIsRead) {
  const Generation generation = Accepted(
      R"("model":"smol","max_tokens":7,"min_tokens":2,"temperature":0.5,"top_p":0.25,"top_k":40,)"
      R"("min_p":0.125,"repetition_penalty":1.5,"presence_penalty":-0.5,"frequency_penalty":0.75,)"
      R"("logit_bias":{"5":-100,"999":1.5},"seed":-1,"stop":["a","b"],"stop_token_ids":[3,2,3],)"
      R"("ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},"n":1,)"
      R"("cache_salt":"team-7","priority":3,)"
      R"("user":"u","metadata":{"k":"v"},"a_field_nobody_knows":{"deep":[1]})");
  EXPECT_EQ(generation.max_tokens, 7);
  EXPECT_EQ(generation.max_tokens_field, "max_tokens");
  EXPECT_EQ(generation.min_tokens, 2);
  const SamplingParams& sampling = generation.sampling;
  EXPECT_EQ(sampling.temperature, 0.5F);
  EXPECT_EQ(sampling.top_p, 0.25F);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_EQ(sampling.min_p, 0.125F);
  EXPECT_EQ(sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(sampling.presence_penalty, -0.5F);
  EXPECT_EQ(sampling.frequency_penalty, 0.75F);
  EXPECT_THAT(generation.logit_bias,
              UnorderedElementsAre(FieldsAre(5, -100.0F), FieldsAre(999, 1.5F)));
  EXPECT_EQ(generation.seed, ~std::uint64_t{0});
  EXPECT_THAT(generation.stop, ElementsAre("a", "b"));
  EXPECT_THAT(generation.stop_token_ids, ElementsAre(3, 2, 3));
  EXPECT_TRUE(generation.ignore_eos && generation.stream && generation.include_usage);
  EXPECT_EQ(generation.cache_salt, "team-7");
  EXPECT_EQ(generation.priority, 3);
}

TEST_P(GenerationTest, TheNewerNameOfMaxTokensWins) {
  const Generation both = Accepted(R"("max_tokens":5,"max_completion_tokens":6)");
  EXPECT_EQ(both.max_tokens, 6);
  EXPECT_EQ(both.max_tokens_field, "max_completion_tokens");
  const Generation older = Accepted(R"("max_tokens":5,"max_completion_tokens":null)");
  EXPECT_EQ(older.max_tokens, 5);
  EXPECT_EQ(older.max_tokens_field, "max_tokens");
}

TEST_P(GenerationTest, TheNameOfTheRepetitionPenaltyInVllmWins) {
  EXPECT_EQ(Accepted(R"("repeat_penalty":1.25)").sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(Accepted(R"("repeat_penalty":1.25,"repetition_penalty":2)").sampling.repetition_penalty,
            2.0F);
}

TEST_P(GenerationTest, AllTokensMayBeDrawnWhenTopKIsZeroOrMinusOne) {
  EXPECT_EQ(Accepted(R"("top_k":-1)").sampling.top_k, 0);
  EXPECT_EQ(Accepted(R"("top_k":0)").sampling.top_k, 0);
  EXPECT_EQ(Accepted(R"("top_k":1)").sampling.top_k, 1);
}

TEST_P(GenerationTest, ValuesAreAcceptedAtTheirBounds) {
  for (const char* members : {R"("temperature":0)",
                              R"("temperature":2)",
                              R"("top_p":1)",
                              R"("top_p":1e-9)",
                              R"("top_k":2147483647)",
                              R"("min_p":0)",
                              R"("min_p":1)",
                              R"("repetition_penalty":0.01)",
                              R"("repetition_penalty":100)",
                              R"("presence_penalty":-2)",
                              R"("presence_penalty":2)",
                              R"("frequency_penalty":-2)",
                              R"("frequency_penalty":2)",
                              R"("max_tokens":0)",
                              R"("max_tokens":1)",
                              R"("max_tokens":9223372036854775807)",
                              R"("max_completion_tokens":0)",
                              R"("max_tokens":5,"min_tokens":5)",
                              R"("max_tokens":0,"min_tokens":0)",
                              R"("seed":18446744073709551615)",
                              R"("seed":-9223372036854775808)",
                              R"("logit_bias":{"0":-100})",
                              R"("logit_bias":{"999":100})",
                              R"("logit_bias":{})",
                              R"("logit_bias":{"5":null})",
                              R"("stop_token_ids":[0,999])",
                              R"("stop_token_ids":[])",
                              R"("stop":[])",
                              R"("stop":null)",
                              R"("stream_options":null)"}) {
    Accepted(members);
  }
}

struct Bad {
  const char* members;
  const char* param;
};

TEST_P(GenerationTest, BadValuesAreRefusedWithTheirField) {
  const Bad all[] = {
      {R"("model":1)", "model"},
      {R"("temperature":"hot")", "temperature"},
      {R"("temperature":-0.001)", "temperature"},
      {R"("temperature":2.001)", "temperature"},
      {R"("top_p":0)", "top_p"},
      {R"("top_p":1.001)", "top_p"},
      {R"("top_p":-0.1)", "top_p"},
      {R"("top_p":1e-300)", "top_p"},
      {R"("top_p":true)", "top_p"},
      {R"("top_k":-2)", "top_k"},
      {R"("top_k":2147483648)", "top_k"},
      {R"("top_k":1.5)", "top_k"},
      {R"("min_p":-0.001)", "min_p"},
      {R"("min_p":1.001)", "min_p"},
      {R"("repetition_penalty":0)", "repetition_penalty"},
      {R"("repetition_penalty":0.009)", "repetition_penalty"},
      {R"("repetition_penalty":100.1)", "repetition_penalty"},
      {R"("repeat_penalty":-1)", "repeat_penalty"},
      {R"("presence_penalty":-2.001)", "presence_penalty"},
      {R"("presence_penalty":2.001)", "presence_penalty"},
      {R"("frequency_penalty":-2.001)", "frequency_penalty"},
      {R"("frequency_penalty":2.001)", "frequency_penalty"},
      {R"("frequency_penalty":"1")", "frequency_penalty"},
      {R"("max_tokens":-1)", "max_tokens"},
      {R"("max_tokens":1.5)", "max_tokens"},
      {R"("max_tokens":"1")", "max_tokens"},
      {R"("max_tokens":18446744073709551615)", "max_tokens"},
      {R"("max_completion_tokens":-1)", "max_completion_tokens"},
      {R"("min_tokens":-1)", "min_tokens"},
      {R"("max_tokens":5,"min_tokens":6)", "min_tokens"},
      {R"("max_completion_tokens":0,"min_tokens":1)", "min_tokens"},
      {R"("seed":1.5)", "seed"},
      {R"("seed":"1")", "seed"},
      {R"("logit_bias":[])", "logit_bias"},
      {R"("logit_bias":{"1000":1})", "logit_bias"},
      {R"("logit_bias":{"-1":1})", "logit_bias"},
      {R"("logit_bias":{"+1":1})", "logit_bias"},
      {R"("logit_bias":{"01":1})", "logit_bias"},
      {R"("logit_bias":{"1 ":1})", "logit_bias"},
      {R"("logit_bias":{"":1})", "logit_bias"},
      {R"("logit_bias":{"hello":1})", "logit_bias"},
      {R"("logit_bias":{"99999999999999999999":1})", "logit_bias"},
      {R"("logit_bias":{"5":100.5})", "logit_bias.5"},
      {R"("logit_bias":{"5":-100.5})", "logit_bias.5"},
      {R"("logit_bias":{"5":"1"})", "logit_bias.5"},
      {R"("stop":7)", "stop"},
      {R"("stop":"")", "stop"},
      {R"("stop":["a",""])", "stop[1]"},
      {R"("stop":["a",7])", "stop[1]"},
      {R"("stop_token_ids":3)", "stop_token_ids"},
      {R"("stop_token_ids":[3,1000])", "stop_token_ids[1]"},
      {R"("stop_token_ids":[-1])", "stop_token_ids[0]"},
      {R"("stop_token_ids":["3"])", "stop_token_ids[0]"},
      {R"("stream":"true")", "stream"},
      {R"("stream":true,"stream_options":true)", "stream_options"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "stream_options.include_usage"},
      {R"("ignore_eos":1)", "ignore_eos"}};
  for (const Bad& bad : all) {
    const http::Error error = Refused(bad.members);
    EXPECT_EQ(error.status, 400) << bad.members;
    EXPECT_EQ(error.code, "invalid_request") << bad.members;
    EXPECT_EQ(error.param, bad.param) << bad.members;
    EXPECT_FALSE(error.message.empty()) << bad.members;
  }
}

TEST_P(GenerationTest, StopsAreBoundedInNumberAndLength) {
  const auto stops = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) absl::StrAppend(&list, i == 0 ? "\"" : ",\"", i, "\"");
    return absl::StrCat("\"stop\":[", list, "]");
  };
  EXPECT_EQ(Accepted(stops(15)).stop.size(), 15U);
  EXPECT_EQ(Accepted(stops(16)).stop.size(), 16U);
  EXPECT_EQ(Refused(stops(17)).param, "stop");
  const auto bytes = [](int count) {
    return absl::StrCat("\"stop\":\"", std::string(count, 's'), "\"");
  };
  Accepted(bytes(1023));
  Accepted(bytes(1024));
  EXPECT_EQ(Refused(bytes(1025)).param, "stop");
}

TEST_P(GenerationTest, StopTokensAreBoundedInNumber) {
  const auto stops = [](int count) {
    std::string list = "7";
    for (int i = 1; i < count; ++i) absl::StrAppend(&list, ",", i);
    return absl::StrCat("\"stop_token_ids\":[", list, "]");
  };
  EXPECT_EQ(Accepted(stops(15)).stop_token_ids.size(), 15U);
  EXPECT_EQ(Accepted(stops(16)).stop_token_ids.size(), 16U);
  EXPECT_EQ(Refused(stops(17)).param, "stop_token_ids");
}

TEST(LogitBias, IsBoundedInNumber) {
  const auto parse = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) absl::StrAppend(&list, i == 0 ? "\"" : ",\"", i, "\":1");
    return ParseCompletionRequest(absl::StrCat(R"({"prompt":"Hi","logit_bias":{)", list, "}}"),
                                  "smol", 2000);
  };
  EXPECT_EQ(parse(1023)->generation.logit_bias.size(), 1023U);
  EXPECT_EQ(parse(1024)->generation.logit_bias.size(), 1024U);
  ASSERT_FALSE(parse(1025).ok());
  EXPECT_EQ(parse(1025).error().param, "logit_bias");
}

TEST(MinTokens, OfACompletionThatSaysNoMoreAreUnderTheDefault) {
  const auto parse = [](int tokens) {
    return ParseCompletionRequest(absl::StrCat(R"({"prompt":"Hi","min_tokens":)", tokens, "}"),
                                  "smol", kVocabulary);
  };
  EXPECT_TRUE(parse(15).ok());
  EXPECT_TRUE(parse(16).ok());
  ASSERT_FALSE(parse(17).ok());
  EXPECT_EQ(parse(17).error().param, "min_tokens");
}

TEST_P(GenerationTest, OtherMethodsAreRefusedByName) {
  for (const char* members : {R"("n":2)",
                              R"("n":0)",
                              R"("best_of":2)",
                              R"("use_beam_search":true)",
                              R"("typical_p":0.9)",
                              R"("mirostat":2)",
                              R"("mirostat_mode":1)",
                              R"("dry_multiplier":0.8)",
                              R"("xtc_probability":0.5)",
                              R"("tfs_z":0.9)",
                              R"("top_n_sigma":1)",
                              R"("top_a":0.2)",
                              R"("dynatemp_range":0.5)",
                              R"("no_repeat_ngram_size":3)",
                              R"("repeat_last_n":64)",
                              R"("length_penalty":0.5)",
                              R"("samplers":["top_k"])",
                              R"("bad_words":["x"])",
                              R"("allowed_token_ids":[1])",
                              R"("logits_processors":["x"])",
                              R"("guided_json":{})",
                              R"("guided_regex":"a")",
                              R"("grammar":"root ::= a")",
                              R"("structured_outputs":{})",
                              R"("response_format":{"type":"json_object"})",
                              R"("suffix":"end")",
                              R"("prompt_logprobs":1)",
                              R"("include_stop_str_in_output":true)",
                              R"("skip_special_tokens":false)",
                              R"("truncate_prompt_tokens":5)"}) {
    const http::Error error = Refused(members);
    EXPECT_EQ(error.code, "invalid_request");
    const std::string name(members);
    EXPECT_EQ(error.param, name.substr(1, name.find('"', 1) - 1));
    EXPECT_THAT(error.message, HasSubstr("not supported"));
  }
}

TEST_P(GenerationTest, NeutralValuesOfWhatIsNotSupportedPass) {
  for (const char* members :
       {R"("n":1)", R"("n":1.0)", R"("n":null)", R"("best_of":1)", R"("typical_p":1)",
        R"("mirostat":0)", R"("top_n_sigma":-1)", R"("repeat_last_n":-1)", R"("tools":[])",
        R"("tools":null)", R"("tool_choice":"none")", R"("response_format":{"type":"text"})",
        R"("logit_bias":null)", R"("suffix":"")", R"("suffix":null)", R"("guided_json":null)",
        R"("kv_policy":null)", R"("add_special_tokens":true)"}) {
    Accepted(members);
  }
}

TEST_P(GenerationTest, APolicySaysWhatIsKept) {
  EXPECT_FALSE(Accepted("").kv_policy.is_given);
  EXPECT_FALSE(Accepted(R"("kv_policy":null)").kv_policy.is_given);
  const AskedPolicy exact = Accepted(R"("kv_policy":{"type":"exact"})").kv_policy;
  EXPECT_TRUE(exact.is_given);
  EXPECT_EQ(exact.policy, std::nullopt);
  const AskedPolicy streaming =
      Accepted(R"("kv_policy":{"type":"streaming","sinks":2,"window":300})").kv_policy;
  EXPECT_TRUE(streaming.is_given);
  EXPECT_EQ(streaming.policy, (scheduler::KvPolicy{.sinks = 2, .window = 300}));
  EXPECT_EQ(Accepted(R"("kv_policy":{"type":"streaming"})").kv_policy.policy,
            (scheduler::KvPolicy{.sinks = 4, .window = 1024}));
}

TEST_P(GenerationTest, APolicyThatIsNoneIsRefusedByName) {
  const auto param = [](const char* policy) {
    const http::Error error = Refused(absl::StrCat(R"("kv_policy":)", policy));
    EXPECT_EQ(error.code, "invalid_request");
    return error.param;
  };
  EXPECT_EQ(param(R"("streaming")"), "kv_policy");
  EXPECT_EQ(param("[]"), "kv_policy");
  EXPECT_EQ(param("{}"), "kv_policy.type");
  EXPECT_EQ(param(R"({"type":7})"), "kv_policy.type");
  EXPECT_EQ(param(R"({"type":"quests"})"), "kv_policy.type");
  EXPECT_EQ(param(R"({"type":"quest","budget":0})"), "kv_policy.budget");
  EXPECT_EQ(param(R"({"type":"quest","recent":5})"), "kv_policy.recent");
  EXPECT_EQ(param(R"({"type":"quest","dense_layers":-1})"), "kv_policy.dense_layers");
  EXPECT_EQ(param(R"({"type":"h2o","window":5})"), "kv_policy.window");
  EXPECT_EQ(param(R"({"type":"snapkv","budget":0})"), "kv_policy.budget");
  EXPECT_EQ(param(R"({"type":"scissorhands","history":65})"), "kv_policy.history");
  EXPECT_EQ(param(R"({"type":"exact","window":5})"), "kv_policy.window");
  EXPECT_EQ(param(R"({"type":"streaming","budget":5})"), "kv_policy.budget");
  EXPECT_EQ(param(R"({"type":"streaming","sinks":"4"})"), "kv_policy.sinks");
  EXPECT_EQ(param(R"({"type":"streaming","sinks":-1})"), "kv_policy.sinks");
  EXPECT_EQ(param(R"({"type":"streaming","sinks":65})"), "kv_policy.sinks");
  EXPECT_EQ(param(R"({"type":"streaming","window":0})"), "kv_policy.window");
  EXPECT_EQ(param(R"({"type":"streaming","window":1.5})"), "kv_policy.window");
  EXPECT_THAT(
      Refused(R"("kv_policy":{"type":"quests"})").message,
      HasSubstr(
          "'quests' is not known (use exact, streaming, h2o, scissorhands, snapkv or quest)"));
}

TEST_P(GenerationTest, ASaltIsATextOfOneToOneThousandAndTwentyFourBytes) {
  const auto salt = [](std::size_t bytes) {
    return absl::StrCat(R"("cache_salt":")", std::string(bytes, 'x'), R"(")");
  };
  for (const std::size_t bytes : {1, 1023, 1024}) {
    EXPECT_EQ(Accepted(salt(bytes)).cache_salt, std::string(bytes, 'x'));
  }
  EXPECT_EQ(Accepted(R"("cache_salt":null)").cache_salt, "");
  EXPECT_EQ(Accepted(R"("cache_salt":"a\u0000b")").cache_salt, std::string("a\0b", 3));
  std::string two_bytes_each;
  for (int i = 0; i < 513; ++i) two_bytes_each += "é";  // of 1,026 bytes
  for (const std::string& members :
       {salt(0), salt(1025), absl::StrCat(R"("cache_salt":")", two_bytes_each, R"(")"),
        std::string(R"("cache_salt":7)"), std::string(R"("cache_salt":["s"])"),
        std::string(R"("cache_salt":{})"), std::string(R"("cache_salt":false)")}) {
    const http::Error error = Refused(members);
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.code, "invalid_request");
    EXPECT_EQ(error.param, "cache_salt");
    EXPECT_THAT(error.message, HasSubstr("'cache_salt' must"));
  }
}

TEST_P(GenerationTest, APriorityIsAnIntegerFromZeroToNine) {
  EXPECT_EQ(Accepted(R"("priority":0)").priority, 0);
  EXPECT_EQ(Accepted(R"("priority":1)").priority, 1);
  EXPECT_EQ(Accepted(R"("priority":8)").priority, 8);
  EXPECT_EQ(Accepted(R"("priority":9)").priority, 9);
  EXPECT_EQ(Accepted(R"("priority":null)").priority, 0);
  for (const char* members :
       {R"("priority":-1)", R"("priority":10)", R"("priority":18446744073709551615)",
        R"("priority":1.5)", R"("priority":"3")", R"("priority":true)", R"("priority":[3])"}) {
    const http::Error error = Refused(members);
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.code, "invalid_request");
    EXPECT_EQ(error.param, "priority");
    EXPECT_THAT(error.message, HasSubstr("'priority' must be"));
  }
}

TEST_P(GenerationTest, AnotherModelIsNotFound) {
  const http::Error error = Refused(R"("model":"gpt-5")");
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(error.code, "model_not_found");
  EXPECT_EQ(error.param, "model");
  EXPECT_THAT(error.message, HasSubstr("gpt-5"));
  Accepted(R"("model":null)");
}

}  // namespace
}  // namespace banyan::server::openai
