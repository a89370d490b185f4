// Chat templates against jinja2, byte for byte: what tests/text/oracle/compare_templates.py wrote
// to the file that BANYAN_TEMPLATE_ORACLE names. Without that variable there is nothing to compare.
#include <algorithm>
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

// What JSON and Python write for numbers, true, false and none: they came with the request, which
// the oracle cannot show. White space is nobody's there either, nor are its escapes.
bool IsLiteral(std::string_view text) {
  static constexpr std::string_view kWords[] = {"true", "false", "null", "True", "False", "None"};
  return std::ranges::find(kWords, text) != std::end(kWords) ||
         text.find_first_not_of("0123456789.e+-") == std::string_view::npos;
}

bool IsBlank(std::string_view text) {
  static constexpr std::string_view kBlanks[] = {
      "\\n", "\\t", "\\r", " ", "\t", "\n", "\r", "\x0b", "\x0c", "\u00a0", "\u2003", "\u3000"};
  while (!text.empty()) {
    const auto* blank = std::ranges::find_if(
        kBlanks, [&](std::string_view candidate) { return text.starts_with(candidate); });
    if (blank == std::end(kBlanks)) return false;
    text.remove_prefix(blank->size());
  }
  return true;
}

// Where the oracle says a byte is of the other origin; nothing when all agree.
std::string OriginDifference(const std::vector<Piece>& pieces, const json::array& runs) {
  std::string text, ours, theirs;
  for (const Piece& piece : pieces) {
    text += piece.text;
    ours.append(piece.text.size(), piece.origin == Origin::kMessage ? 'm' : 't');
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    theirs.append(runs[i].to_number<std::size_t>(), i % 2 == 1 ? 'm' : 't');
  }
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && ours[end] == ours[begin] && theirs[end] == theirs[begin]) ++end;
    const std::string_view run = std::string_view(text).substr(begin, end - begin);
    const bool differs = ours[begin] != theirs[begin];
    if (differs && !IsBlank(run) && (ours[begin] == 't' || !IsLiteral(run))) {
      return "origin of " + testing::PrintToString(std::string(run)) + " at byte " +
             std::to_string(begin) + " is " + ours[begin];
    }
    begin = end;
  }
  return "";
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
  std::size_t templates = 0, compared = 0, texts = 0, origins = 0, raised = 0, differences = 0;
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
      std::string difference = Difference(pieces, wanted);
      const json::value* runs = wanted.as_object().if_contains("origins");
      if (difference.empty() && runs != nullptr) {
        ++origins;
        difference = OriginDifference(*pieces, runs->as_array());
      }
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
            << " conversations: " << compared << " renderings (" << texts << " texts, " << origins
            << " with the origin of every byte, " << raised << " raised, the others fail), "
            << differences << " differences\n";
  EXPECT_GE(templates, 60u);
  EXPECT_GE(origins * 5, texts * 3) << "most templates do not look into the text";
  EXPECT_GE(texts * 2, compared) << "most conversations should be possible";
}

}  // namespace
}  // namespace banyan::text
