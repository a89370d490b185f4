#include "server/openai/tokenize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/fixture.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

class TokenizeTest : public EngineTest {
 protected:
  json::value Tokenized(const std::string& members) {
    return Post("/tokenize", absl::StrCat("{", members, "}"))->Json();
  }
  json::value TokensOf(const std::string& members) {
    const json::value answer = Tokenized(members);
    const json::object& object = answer.as_object();
    if (!object.contains("tokens")) return answer;
    EXPECT_EQ(object.at("count"), object.at("tokens").as_array().size());
    return object.at("tokens");
  }
  json::value ParamOf(const std::string& path, const std::string& members) {
    const auto client = Post(path, absl::StrCat("{", members, "}"));
    ExpectError(*client, 400, "invalid_request");
    return client->Json().at("error").at("param");
  }
};

TEST_F(TokenizeTest, ContentIsTheTextOfAMessageAndAPromptIsACompletions) {
  Load(EngineRuns::kYes);
  EXPECT_EQ(TokensOf(R"("content":"ab")"), (json::array{97, 98}));
  EXPECT_EQ(TokensOf(R"("prompt":"ab")"), (json::array{97, 98}));
  EXPECT_EQ(TokensOf(R"("content":"<|im_end|>")").as_array().size(), 10U);
  EXPECT_EQ(TokensOf(R"("prompt":"<|im_end|>")"), json::array{257});
  EXPECT_EQ(TokensOf(R"("content":"<|im_end|>","parse_special":true)"), json::array{257});
  EXPECT_EQ(TokensOf(R"("prompt":"<|im_end|>","parse_special":false)").as_array().size(), 10U);
  EXPECT_EQ(TokensOf(R"("content":"")"), json::array());
  EXPECT_EQ(Tokenized(R"("content":"")").at("max_model_len"), model_.scheduling.context_length);
}

TEST_F(TokenizeTest, MessagesAreThePromptOfAChat) {
  Load(EngineRuns::kYes);
  const std::string messages = R"("messages":[{"role":"user","content":"Hello"}])";
  const json::value usage =
      Post("/v1/chat/completions", absl::StrCat("{", messages, R"(,"max_tokens":1})"))->Json();
  EXPECT_EQ(Tokenized(messages).at("count"), usage.at("usage").at("prompt_tokens"));
  EXPECT_EQ(Tokenized(absl::StrCat(messages, R"(,"tools":[{"type":"function"}])")).at("count"),
            usage.at("usage").at("prompt_tokens"))
      << "this template has no place for tools";
}

TEST_F(TokenizeTest, PiecesAreBytesWhereTheyAreNoText) {
  Load(EngineRuns::kYes);
  EXPECT_EQ(json::serialize(TokensOf(R"("prompt":"aé<|im_end|>","with_pieces":true)")),
            R"([{"id":97,"piece":"a"},{"id":195,"piece":[195]},{"id":169,"piece":[169]},)"
            R"({"id":257,"piece":"<|im_end|>"}])");
  EXPECT_EQ(Tokenized(R"("prompt":"a<|im_end|>","return_token_strs":true)").at("token_strs"),
            (json::array{"a", "<|im_end|>"}));
}

TEST_F(TokenizeTest, DetokenizingIsTheWayBack) {
  Load(EngineRuns::kYes);
  const auto text = [this](const std::string& tokens) {
    const json::value answer =
        Post("/detokenize", absl::StrCat(R"({"tokens":)", tokens, "}"))->Json();
    EXPECT_EQ(answer.at("prompt"), answer.at("content"));
    return Text(answer.at("prompt"));
  };
  EXPECT_EQ(text("[]"), "");
  EXPECT_EQ(text(json::serialize(TokensOf(R"("prompt":"naïve <|im_end|>")"))), "naïve <|im_end|>");
  EXPECT_EQ(text("[195]"), "\xEF\xBF\xBD");
  const std::int32_t last = model_.codec->vocabulary_size() - 1;
  EXPECT_EQ(text(absl::StrCat("[", last, "]")), std::string(model_.codec->TokenPiece(last)));
}

TEST_F(TokenizeTest, WhatIsWrongIsNamed) {
  Load(EngineRuns::kYes);
  EXPECT_EQ(ParamOf("/tokenize", ""), "content");
  EXPECT_EQ(ParamOf("/tokenize", R"("content":7)"), "content");
  EXPECT_EQ(ParamOf("/tokenize", R"("prompt":["a"])"), "prompt");
  EXPECT_EQ(ParamOf("/tokenize", R"("content":"a","prompt":"b")"), "content");
  EXPECT_EQ(ParamOf("/tokenize", R"("content":"a","messages":[])"), "messages");
  EXPECT_EQ(ParamOf("/tokenize", R"("messages":[])"), "messages");
  EXPECT_EQ(ParamOf("/tokenize", R"("messages":[{"role":"user"}])"), "messages[0].content");
  EXPECT_EQ(ParamOf("/tokenize", R"("content":"a","with_pieces":1)"), "with_pieces");
  EXPECT_EQ(ParamOf("/tokenize", R"("content":"a","parse_special":1)"), "parse_special");
  EXPECT_EQ(ParamOf("/tokenize", R"("content":"a","add_special":1)"), "add_special");
  EXPECT_EQ(ParamOf("/tokenize", R"("content":"a","truncate_prompt_tokens":3)"),
            "truncate_prompt_tokens");
  EXPECT_EQ(ParamOf("/detokenize", ""), "tokens");
  EXPECT_EQ(ParamOf("/detokenize", R"("tokens":"a")"), "tokens");
  EXPECT_EQ(ParamOf("/detokenize", R"("tokens":[97,-1])"), "tokens[1]");
  EXPECT_EQ(ParamOf("/detokenize", R"("tokens":[97.5])"), "tokens[0]");
  EXPECT_EQ(
      ParamOf("/detokenize", absl::StrCat(R"("tokens":[)", model_.codec->vocabulary_size(), "]")),
      "tokens[0]");
  ExpectError(*Post("/detokenize", R"({"tokens":[97],"model":"gpt"})"), 404, "model_not_found");
}

TEST_F(TokenizeTest, TheTextIsBounded) {
  Load(EngineRuns::kYes);
  const auto ask = [this](std::size_t bytes) {
    return Post("/tokenize", absl::StrCat(R"({"content":")", std::string(bytes, 'x'), "\"}"));
  };
  EXPECT_EQ(ask(kMaxTokenizeBytes - 1)->answer->status, 200);
  EXPECT_EQ(ask(kMaxTokenizeBytes)->answer->status, 200);
  ExpectError(*ask(kMaxTokenizeBytes + 1), 400, "invalid_request");
}

TEST_F(TokenizeTest, BothAnswerWhileTheEngineIsInAStep) {
  Load(EngineRuns::kYes);
  steps_.CloseAfter(0);
  auto busy = Connect();
  EngineTest::Begin(*busy, "/v1/completions", R"({"prompt":"a","max_tokens":5,"ignore_eos":true})");
  RunUntil([this] { return steps_.begun() == 1; });
  for (const auto& [path, body] :
       {std::pair{"/tokenize", R"({"messages":[{"role":"user","content":"Hello"}]})"},
        std::pair{"/tokenize", R"({"prompt":"Hello"})"},
        std::pair{"/detokenize", R"({"tokens":[97]})"}}) {
    auto client = Connect();
    EngineTest::Begin(*client, path, body);
    RunUntil([&] { return client->answer.has_value(); });
    EXPECT_EQ(client->answer->status, 200) << path;
  }
  EXPECT_EQ(steps_.begun(), 1) << "the step that began before them has not ended";
  EXPECT_FALSE(busy->answer.has_value());
  steps_.Open();
  RunToTheEnd();
  EXPECT_EQ(steps_.begun(), 5) << "they asked nothing of the engine";
}

}  // namespace
}  // namespace banyan::server::openai
