#include "server/openai/prompt.h"

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace banyan::server::openai {
namespace {

// A template may put a whole conversation into its exception.
constexpr std::size_t kMaxTemplateMessageBytes = 1024;

http::Error NotRendered(absl::string_view message) {
  std::string text(message.substr(0, kMaxTemplateMessageBytes));
  while (FirstInvalidUtf8(text) != std::string::npos) text.pop_back();
  return Invalid("messages", std::move(text));
}

// An error where there are more bytes than the tokens can stand for.
std::optional<http::Error> CheckBytes(const ServedModel& model, std::size_t bytes,
                                      std::string_view field, std::int64_t most_tokens) {
  const auto most = static_cast<std::size_t>(most_tokens);
  if (bytes / model.codec->longest_token_bytes() <= most) return std::nullopt;
  const bool is_context = most_tokens == model.scheduling.context_length;
  return TooLong(field, absl::StrCat("The text of '", std::string(field), "' has ", bytes,
                                     " bytes: more than ", is_context ? "the context of " : "",
                                     most, " tokens can hold."));
}

}  // namespace

std::string Sentence(absl::string_view message) {
  std::string sentence(message);
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') {
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  }
  if (!sentence.empty() && sentence.back() != '.') sentence += '.';
  return sentence;
}

http::Error TooLong(std::string_view field, std::string message) {
  http::Error error = Invalid(std::string(field), std::move(message));
  error.code = "context_length_exceeded";
  return error;
}

Result<ChatPrompt> EncodeChat(const ServedModel& model, const text::Conversation& conversation,
                              text::AddedTokens added, std::int64_t most_tokens) {
  const text::Codec& codec = *model.codec;
  const absl::StatusOr<std::vector<text::Piece>> pieces = codec.Render(conversation);
  if (!pieces.ok()) return NotRendered(pieces.status().message());
  std::size_t bytes = 0;
  for (const text::Piece& piece : *pieces) bytes += piece.text.size();
  if (auto error = CheckBytes(model, bytes, "messages", most_tokens)) return *std::move(error);
  absl::StatusOr<std::vector<TokenId>> tokens = codec.Encode(*pieces, added);
  if (!tokens.ok()) return Invalid("messages", Sentence(tokens.status().message()));
  if (tokens->empty()) return Invalid("messages", "The messages come to no tokens.");
  ChatPrompt prompt{.tokens = *std::move(tokens)};
  if (const text::ReasoningMarks* marks = codec.reasoning()) {
    prompt.start = text::ReasoningSplitter::StartAfter(*marks, *pieces);
  }
  return prompt;
}

Result<std::vector<TokenId>> EncodeText(const ServedModel& model, std::string_view text,
                                        text::ControlTokens control, text::AddedTokens added,
                                        std::string_view field, std::int64_t most_tokens) {
  if (auto error = CheckBytes(model, text.size(), field, most_tokens)) return *std::move(error);
  absl::StatusOr<std::vector<TokenId>> tokens = model.codec->Encode(text, control, added);
  if (!tokens.ok()) return Invalid(std::string(field), Sentence(tokens.status().message()));
  return *std::move(tokens);
}

}  // namespace banyan::server::openai
