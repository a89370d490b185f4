#include "server/openai/tokenize.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "server/openai/body.h"
#include "server/openai/conversation.h"
#include "server/openai/fields.h"
#include "server/openai/json_text.h"
#include "server/openai/prompt.h"
#include "server/openai/reply.h"
#include "server/openai/token_ids.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;
using text::AddedTokens;
using text::ControlTokens;
using Tokens = std::vector<TokenId>;

Result<Tokens> TokensOfChat(const Service& service, const ServedModel& model,
                            const json::object& body, AddedTokens added) {
  const Result<text::Conversation> conversation = ParseConversation(body, service.NowUnix());
  if (!conversation.ok()) return conversation.error();
  Result<ChatPrompt> prompt =
      EncodeChat(model, *conversation, added, model.scheduling.context_length);
  if (!prompt.ok()) return prompt.error();
  return std::move(prompt->tokens);
}

Result<Tokens> TokensOfText(const ServedModel& model, const std::string& field,
                            std::string_view text, ControlTokens control, AddedTokens added) {
  if (text.size() > kMaxTokenizeBytes) {
    return Invalid(field, absl::StrCat("The text has ", text.size(), " bytes; at most ",
                                       kMaxTokenizeBytes, " are tokenized at once."));
  }
  absl::StatusOr<Tokens> tokens = model.codec->Encode(text, control, added);
  if (!tokens.ok()) return Invalid(field, Sentence(tokens.status().message()));
  return *std::move(tokens);
}

// The one field that says what to encode.
Result<std::string> SourceOf(const Fields& fields) {
  std::string source;
  for (const char* name : {"prompt", "content", "messages"}) {
    if (fields.Any(name) == nullptr) continue;
    if (!source.empty()) {
      return Invalid(name,
                     absl::StrCat("Only one of '", source, "' and '", name, "' can be given."));
    }
    source = name;
  }
  if (source.empty()) return Invalid("content", "'content', 'prompt' or 'messages' is missing.");
  return source;
}

Result<Tokens> TokensOf(const Service& service, const ServedModel& model, const json::object& body,
                        Fields& fields) {
  const Result<std::string> source = SourceOf(fields);
  if (!source.ok()) return source.error();
  std::optional<bool> add = fields.Bool("add_special_tokens");
  if (!add) add = fields.Bool("add_special");
  const bool parse = fields.Bool("parse_special").value_or(*source == "prompt");
  const bool chat = *source == "messages";
  const std::string_view text =
      chat ? std::string_view() : fields.Text(*source).value_or(std::string_view());
  if (fields.error()) return *fields.error();
  const AddedTokens added =
      add.value_or(*source != "content") ? AddedTokens::kAsModelAsks : AddedTokens::kNone;
  if (chat) return TokensOfChat(service, model, body, added);
  return TokensOfText(model, *source, text,
                      parse ? ControlTokens::kRecognize : ControlTokens::kPlainText, added);
}

// What the token stands for, or its spelling.
std::string_view PieceOf(const text::Codec& codec, TokenId token) {
  const std::string_view bytes = codec.TokenBytes(token);
  return bytes.empty() ? codec.TokenPiece(token) : bytes;
}

std::string PieceJson(std::string_view piece) {
  if (FirstInvalidUtf8(piece) == std::string_view::npos) return Quoted(piece);
  std::string bytes;
  for (const char byte : piece) AppendItem(bytes, absl::StrCat(static_cast<unsigned char>(byte)));
  return absl::StrCat("[", bytes, "]");
}

Result<std::string> TokenizeBody(const Service& service, const ServedModel& model,
                                 const http::Request& request) {
  const Result<json::object> body = ParseBody(request.body, service.model_name(), Route::kTokenize);
  if (!body.ok()) return body.error();
  Fields fields(*body, "");
  const bool with_pieces = fields.Bool("with_pieces").value_or(false);
  const bool with_strings = fields.Bool("return_token_strs").value_or(false);
  if (fields.error()) return *fields.error();
  const Result<Tokens> tokens = TokensOf(service, model, *body, fields);
  if (!tokens.ok()) return tokens.error();

  std::string ids;
  std::string strings;
  for (const TokenId token : *tokens) {
    const std::string_view piece = PieceOf(*model.codec, token);
    const std::string id = absl::StrCat(token);
    AppendItem(
        ids, with_pieces ? absl::StrCat("{\"id\":", id, ",\"piece\":", PieceJson(piece), "}") : id);
    if (with_strings) AppendItem(strings, Quoted(ToValidUtf8(piece)));
  }
  std::string answer = absl::StrCat("{\"tokens\":[", ids, "],\"count\":", tokens->size(),
                                    ",\"max_model_len\":", model.scheduling.context_length);
  if (with_strings) absl::StrAppend(&answer, ",\"token_strs\":[", strings, "]");
  return answer + "}";
}

Result<std::string> DetokenizeBody(const Service& service, const ServedModel& model,
                                   const http::Request& request) {
  const Result<json::object> body =
      ParseBody(request.body, service.model_name(), Route::kDetokenize);
  if (!body.ok()) return body.error();
  Fields fields(*body, "");
  const json::array* list = fields.Array("tokens");
  if (fields.error()) return *fields.error();
  if (list == nullptr) return Invalid("tokens", "'tokens' is missing.");
  const Result<Tokens> tokens = ParseTokenIds(*list, "tokens", model.codec->vocabulary_size());
  if (!tokens.ok()) return tokens.error();
  const std::string text = Quoted(ToValidUtf8(model.codec->Decode(*tokens)));
  return absl::StrCat("{\"prompt\":", text, ",\"content\":", text, "}");
}

}  // namespace

boost::asio::awaitable<void> Tokenize(Service& service, const http::Request& request,
                                      http::Responder& responder) {
  return ReplyAtOnce(service, request, responder, TokenizeBody);
}

boost::asio::awaitable<void> Detokenize(Service& service, const http::Request& request,
                                        http::Responder& responder) {
  return ReplyAtOnce(service, request, responder, DetokenizeBody);
}

}  // namespace banyan::server::openai
