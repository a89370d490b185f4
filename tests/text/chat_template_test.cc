// Which template a model gets, and what it finds by name.
#include "text/chat_template.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/chat.h"

namespace banyan::text {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Joined(const absl::StatusOr<std::vector<Piece>>& pieces) {
  if (!pieces.ok()) return std::string(pieces.status().message());
  std::string text;
  for (const Piece& piece : *pieces) text += piece.text;
  return text;
}

std::unique_ptr<const ChatTemplate> DefaultWith(const std::set<std::string, std::less<>>& tokens) {
  return ChatTemplate::Default([&](std::string_view token) { return tokens.contains(token); }, {});
}

const Conversation& Hello() {
  static const Conversation& hello = *new Conversation(
      Chat({{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Ho"}, {"user", "?"}}));
  return hello;
}

TEST(DefaultTemplate, IsThatOfTheFamilyWhoseControlTokensAreThere) {
  const auto chatml = DefaultWith({"<|im_start|>", "<|im_end|>", "<start_of_turn>"});
  EXPECT_EQ(chatml->name(), "default: ChatML");
  EXPECT_EQ(Joined(chatml->Render(Hello())),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nHo<|im_end|>\n<|im_start|>user\n?<|im_end|>\n"
            "<|im_start|>assistant\n");
  const auto gemma = DefaultWith({"<|im_start|>", "<start_of_turn>", "<end_of_turn>"});
  EXPECT_EQ(gemma->name(), "default: Gemma");
  EXPECT_EQ(
      Joined(gemma->Render(Hello())),
      "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHo<end_of_turn>\n"
      "<start_of_turn>user\n?<end_of_turn>\n<start_of_turn>model\n");
  const auto llama = DefaultWith({"<|start_header_id|>", "<|eot_id|>"});
  EXPECT_EQ(llama->name(), "default: Llama 3");
  EXPECT_EQ(Joined(llama->Render(Hello())),
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nHo<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  const auto plain = DefaultWith({});
  EXPECT_EQ(plain->name(), "default: plain");
  EXPECT_EQ(Joined(plain->Render(Hello())),
            "System: Be brief.\n\nUser: Hi\n\nAssistant: Ho\n\nUser: ?\n\nAssistant:");
}

TEST(DefaultTemplate, TakesContentsOfEveryForm) {
  Conversation conversation;
  conversation.add_generation_prompt = false;
  conversation.messages = {
      {{"role", "user"},
       {"content", {{{"type", "text"}, {"text", "a"}}, {{"type", "image"}}, {{"text", "b"}}}}},
      {{"role", "assistant"}, {"content", nullptr}},
      {{"role", "assistant"}}};
  EXPECT_EQ(Joined(DefaultWith({"<|im_start|>", "<|im_end|>"})->Render(conversation)),
            "<|im_start|>user\nab<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n"
            "<|im_start|>assistant\n<|im_end|>\n");
}

TEST(ChatTemplateChoice, WhatIsGivenThenTheFilesThenTheDefault) {
  const auto none = [](std::string_view) { return false; };
  const auto name = [&](std::string_view given, std::optional<std::string_view> from_file) {
    const auto chosen = ChatTemplate::Choose(given, from_file, none, {});
    return chosen.ok() ? std::string((*chosen)->name()) : std::string(chosen.status().message());
  };
  EXPECT_EQ(name("a", "b"), "given");
  EXPECT_EQ(name("", "b"), "from the file");
  EXPECT_EQ(name("", std::nullopt), "default: plain");
  EXPECT_THAT(name("{% if %}", "b"), StartsWith("the given chat template: line 1: "));
  EXPECT_THAT(name("", "a\n{% if %}"), StartsWith("tokenizer.chat_template: line 2: "));
  EXPECT_EQ(ChatTemplate::Choose("", "{% x", none, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

std::string Render(const std::string& text, const Conversation& conversation) {
  const auto parsed = ChatTemplate::Parse(text, {.bos_token = "<s>", .eos_token = "</s>"});
  return parsed.ok() ? Joined((*parsed)->Render(conversation))
                     : std::string(parsed.status().message());
}

TEST(ChatTemplateVariables, AreThoseOfTheTransformersLibrary) {
  Conversation conversation = Chat({{"user", "Hi"}});
  EXPECT_EQ(Render("{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}", conversation),
            "<s></s>False");
  EXPECT_EQ(Render("{{ messages|length }}{{ add_generation_prompt }}", conversation), "1True");
  EXPECT_EQ(Render("{{ tools }}{{ documents }}{{ enable_thinking is defined }}", conversation),
            "NoneNoneFalse");
  conversation.tools = {{{"type", "function"}}};
  conversation.arguments = {{"enable_thinking", false}, {"documents", {"d"}}, {"messages", "no"}};
  conversation.add_generation_prompt = false;
  EXPECT_EQ(Render("{{ tools|tojson }}{{ documents }}{{ enable_thinking }}{{ messages[0].role }}"
                   "{{ add_generation_prompt }}",
                   conversation),
            "[{\"type\": \"function\"}]['d']FalseuserFalse");
  conversation.now = 1721984703;
  EXPECT_EQ(Render("{{ strftime_now('%d %b %Y %H:%M') }}", conversation), "26 Jul 2024 09:05");
}

TEST(ChatTemplateErrors, SayWhatTheTemplateSays) {
  const auto parsed = *ChatTemplate::Parse(
      "{{ raise_exception('Only user and assistant roles: ' ~ messages[0].role) }}", {});
  const auto status = parsed->Render(Chat({{"system", ""}})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "Only user and assistant roles: system");
  const auto endless = *ChatTemplate::Parse(
      "{% for i in range(99999) %}{% for j in range(99999) %}"
      "{% endfor %}{% endfor %}",
      {});
  EXPECT_EQ(endless->Render({}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ChatTemplateReasoning, IsKnownByTheMarks) {
  const auto thinks = *ChatTemplate::Parse("<think>{{ x }}</think>", {});
  ASSERT_NE(thinks->reasoning(), nullptr);
  EXPECT_EQ(thinks->reasoning()->end, "</think>");
  EXPECT_EQ((*ChatTemplate::Parse("{{ x }}", {}))->reasoning(), nullptr);
}

}  // namespace
}  // namespace banyan::text
