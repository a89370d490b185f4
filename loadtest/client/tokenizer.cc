#include "loadtest/client/tokenizer.h"

#include <span>
#include <utility>

#include "loadtest/client/ask.h"
#include "loadtest/client/json_text.h"

namespace banyan::loadtest {
namespace {

using boost::asio::awaitable;

// Pieces are counted behind this, so that what a tokenizer does to the beginning of a text (a space
// before it, a token of its own) does not count.
constexpr std::string_view kAnchor = "x";
constexpr std::int32_t kSampleTokens = 512;

std::vector<std::string> Letters() {
  std::vector<std::string> pieces;
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789")) {
    pieces.emplace_back(1, c);
  }
  return pieces;
}

std::optional<std::int64_t> TokensOf(const Reply& reply) {
  if (!reply.ok()) return std::nullopt;
  const boost::json::value value = ParseReply(reply.body);
  if (!value.is_object()) return std::nullopt;
  const auto* tokens = value.get_object().if_contains("tokens");
  if (tokens == nullptr || !tokens->is_array()) return std::nullopt;
  return static_cast<std::int64_t>(tokens->get_array().size());
}

}  // namespace

awaitable<std::optional<std::int64_t>> Tokenizer::CountAs(Dialect dialect, std::string_view text,
                                                          bool special) {
  std::string body = "{\"model\":";
  AppendQuoted(model_, body);
  body += dialect == Dialect::kPrompt ? ",\"prompt\":" : ",\"content\":";
  AppendQuoted(text, body);
  body += dialect == Dialect::kPrompt ? ",\"add_special_tokens\":" : ",\"add_special\":";
  body += special ? "true}" : "false}";
  ++questions_;
  const Reply reply = co_await Ask(client_, "/tokenize", body);
  co_return TokensOf(reply);
}

awaitable<std::optional<std::int64_t>> Tokenizer::Count(std::string_view text) {
  if (dialect_ == Dialect::kUnknown) {
    // A server that does not know the field may answer with no tokens instead of an error.
    dialect_ = Dialect::kNone;
    for (const Dialect dialect : kDialects) {
      const std::optional<std::int64_t> tokens = co_await CountAs(dialect, kAnchor, false);
      if (tokens.value_or(0) == 0) continue;
      dialect_ = dialect;
      break;
    }
  }
  if (dialect_ == Dialect::kNone) co_return std::nullopt;
  co_return co_await CountAs(dialect_, text, false);
}

awaitable<std::optional<std::int64_t>> Tokenizer::CountPrompt(std::string_view message) {
  std::string messages = "\"messages\":[{\"role\":\"user\",\"content\":";
  AppendQuoted(message, messages);
  messages += "}]}";
  std::string body = "{\"model\":";
  AppendQuoted(model_, body);
  body += "," + messages;
  const Reply chat = co_await Ask(client_, "/tokenize", body);
  const std::optional<std::int64_t> tokens = TokensOf(chat);
  if (tokens.value_or(0) > 0) co_return tokens;

  body = "{" + messages;
  const Reply reply = co_await Ask(client_, "/apply-template", body);
  if (!reply.ok()) co_return std::nullopt;
  const boost::json::value value = ParseReply(reply.body);
  const auto* prompt = value.is_object() ? value.get_object().if_contains("prompt") : nullptr;
  if (prompt == nullptr || !prompt->is_string()) co_return std::nullopt;
  const auto& text = prompt->get_string();
  co_return co_await CountAs(Dialect::kContent, {text.data(), text.size()}, true);
}

awaitable<std::optional<std::vector<std::string>>> Tokenizer::OneTokenEach(
    const std::vector<std::string>& pieces) {
  const std::optional<std::int64_t> anchor = co_await Count(kAnchor);
  if (!anchor) co_return std::nullopt;
  std::vector<std::string> found;
  std::vector<std::span<const std::string>> work;
  work.emplace_back(pieces);
  while (!work.empty()) {
    const std::span<const std::string> group = work.back();
    work.pop_back();
    if (questions_ >= kMaxQuestions) co_return std::nullopt;
    std::string text(kAnchor);
    for (const std::string& piece : group) text += piece;
    const std::optional<std::int64_t> tokens = co_await Count(text);
    if (!tokens) co_return std::nullopt;
    const auto size = static_cast<std::int64_t>(group.size());
    if (*tokens - *anchor == size) {
      found.insert(found.end(), group.begin(), group.end());
    } else if (group.size() == pieces.size() && *tokens - *anchor > 2 * size) {
      co_return std::nullopt;  // hardly any would be left
    } else if (group.size() > 1) {
      work.push_back(group.subspan(group.size() / 2));
      work.push_back(group.first(group.size() / 2));
    }
  }
  if (found.size() < Vocabulary::kMinPieces) co_return std::nullopt;
  co_return found;
}

awaitable<bool> Tokenizer::IsExact(const Vocabulary& vocabulary) {
  const std::optional<std::int64_t> anchor = co_await Count(kAnchor);
  std::string text(kAnchor);
  vocabulary.Append({1, kSampleTokens}, text);
  const std::optional<std::int64_t> tokens = co_await Count(text);
  co_return anchor&& tokens&&* tokens - *anchor == kSampleTokens;
}

awaitable<Vocabulary> Tokenizer::Choose() {
  const std::vector<std::vector<std::string>> sets = {CandidatePieces(), Letters()};
  for (const std::vector<std::string>& set : sets) {
    std::optional<std::vector<std::string>> pieces = co_await OneTokenEach(set);
    if (!pieces) continue;
    Vocabulary vocabulary(*std::move(pieces), true);
    if (co_await IsExact(vocabulary)) co_return vocabulary;
  }
  co_return Vocabulary();
}

}  // namespace banyan::loadtest
