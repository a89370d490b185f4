// Chat templates against jinja2, byte for byte: what tests/text/oracle/compare_templates.py wrote
// to the file that BANYAN_TEMPLATE_ORACLE names. Without that variable there is nothing to compare.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "boost/json.hpp"
#include "gtest/gtest.h"
#include "text/chat_template.h"

namespace banyan::text {
namespace {

namespace json = boost::json;

std::string Text(const json::value& value) { return json::value_to<std::string>(value); }

Conversation ConversationOf(const json::value& entry, std::int64_t now) {
  Conversation conversation;
  conversation.messages = entry.at("messages").as_array();
  if (entry.at("tools").is_array()) conversation.tools = entry.at("tools").as_array();
  conversation.arguments = entry.at("arguments").as_object();
  conversation.add_generation_prompt = entry.at("add_generation_prompt").as_bool();
  conversation.now = now;
  return conversation;
}

// What differs, or nothing.
std::string Difference(const absl::StatusOr<std::vector<Piece>>& pieces,
                       const json::value& wanted) {
  if (const json::value* text = wanted.as_object().if_contains("text")) {
    if (!pieces.ok()) return "expected text, got: " + std::string(pieces.status().message());
    std::string joined;
    for (const Piece& piece : *pieces) joined += piece.text;
    if (joined == Text(*text)) return "";
    std::size_t at = 0;
    while (at < joined.size() && joined[at] == Text(*text)[at]) ++at;
    const std::size_t from = at < 60 ? 0 : at - 60;
    return "at byte " + std::to_string(at) +
           "\n  got:      " + testing::PrintToString(joined.substr(from, 160)) +
           "\n  expected: " + testing::PrintToString(Text(*text).substr(from, 160));
  }
  if (pieces.ok()) return "expected an error: " + json::serialize(wanted);
  const std::string message(pieces.status().message());
  if (const json::value* raised = wanted.as_object().if_contains("raised")) {
    return message == Text(*raised) ? "" : "raised " + message + "\n  expected: " + Text(*raised);
  }
  // Python has a bound on recursion too.
  const bool endless = Text(wanted.at("failed")).starts_with("RecursionError");
  const char* failed = endless ? "the chat template was stopped" : "the chat template failed";
  return message.starts_with(failed) ? "" : "expected a failure, got " + message;
}

TEST(TemplateOracle, EveryTemplateRendersEveryConversationAsJinja2Does) {
  const char* path = std::getenv("BANYAN_TEMPLATE_ORACLE");
  if (path == nullptr) GTEST_SKIP() << "BANYAN_TEMPLATE_ORACLE names no file";
  std::ifstream stream(path);
  ASSERT_TRUE(stream.is_open()) << path;
  const json::value oracle = json::parse(std::string((std::istreambuf_iterator<char>(stream)), {}));
  const json::array& conversations = oracle.at("conversations").as_array();
  const Specials specials = {.bos_token = Text(oracle.at("specials").at("bos_token")),
                             .eos_token = Text(oracle.at("specials").at("eos_token"))};
  std::size_t templates = 0, compared = 0, texts = 0, raised = 0, differences = 0;
  for (const json::value& row : oracle.at("templates").as_array()) {
    const auto parsed = ChatTemplate::Parse(Text(row.at("text")), specials);
    ++templates;
    if (!row.as_object().contains("results")) {
      // What jinja2 does not compile may only show when it is reached.
      std::cout << Text(row.at("name")) << ": " << Text(row.at("failed"))
                << "\n  here: " << (parsed.ok() ? "parsed" : std::string(parsed.status().message()))
                << '\n';
      continue;
    }
    ASSERT_TRUE(parsed.ok()) << Text(row.at("name")) << ": " << parsed.status();
    for (std::size_t i = 0; i < conversations.size(); ++i) {
      const json::value& wanted = row.at("results").at(i);
      const auto pieces =
          (*parsed)->Render(ConversationOf(conversations[i], oracle.at("now").as_int64()));
      const std::string difference = Difference(pieces, wanted);
      ++compared;
      texts += wanted.as_object().contains("text") ? 1 : 0;
      raised += wanted.as_object().contains("raised") ? 1 : 0;
      if (difference.empty()) continue;
      ++differences;
      ADD_FAILURE() << Text(row.at("name")) << ", " << Text(conversations[i].at("name")) << ": "
                    << difference;
    }
  }
  std::cout << "compared " << templates << " templates, each with " << conversations.size()
            << " conversations: " << compared << " renderings (" << texts << " texts, " << raised
            << " raised, the others fail), " << differences << " differences\n";
  EXPECT_GE(templates, 60u);
  EXPECT_GE(texts * 2, compared) << "most conversations should be possible";
}

}  // namespace
}  // namespace banyan::text
