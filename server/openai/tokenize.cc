#include "server/openai/tokenize.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/openai/chat_request.h"
#include "server/openai/fields.h"
#include "server/openai/prompt.h"
#include "server/openai/reply.h"
#include "server/openai/strict_json.h"
#include "server/openai/unsupported.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

// Encoding runs on an I/O thread and takes longest for one run without a break, such as a megabyte
// of one letter.
constexpr std::size_t kMaxTokenizeBytes = 1 << 20;

Result<std::vector<TokenId>> TokensOf(std::string_view body, const Service& service,
                                      const ServedModel& served) {
  const Result<json::object> object = ParseObject(body);
  if (!object.ok()) return object.error();
  Fields fields(*object, "");
  const std::optional<std::string_view> model = fields.Text("model");
  if (model && *model != service.model_name()) return ModelNotFound(*model, service.model_name());
  if (auto error = RefuseUnsupported(*object)) return *std::move(error);
  std::optional<std::string_view> text = fields.Text("content");
  if (!text) text = fields.Text("prompt");
  if (fields.error()) return *fields.error();
  if (!text && fields.Any("messages") != nullptr) {
    Result<json::array> messages = ParseMessages(*object);
    if (!messages.ok()) return messages.error();
    return EncodeChat(served, {.messages = std::move(*messages)});
  }
  if (!text) return Invalid("content", "'content', 'prompt' or 'messages' is missing.");
  if (text->size() > kMaxTokenizeBytes) {
    return Invalid("content", absl::StrCat("The text has ", text->size(), " bytes; at most ",
                                           kMaxTokenizeBytes, " are tokenized at once."));
  }
  absl::StatusOr<std::vector<TokenId>> tokens =
      served.codec->Encode(*text, text::ControlTokens::kPlainText);
  if (!tokens.ok()) return Invalid("content", std::string(tokens.status().message()));
  return *std::move(tokens);
}

}  // namespace

boost::asio::awaitable<void> Tokenize(Service& service, const http::Request& request,
                                      http::Responder& responder) {
  const ServedModel* model = service.model();
  if (model == nullptr) {
    co_await Refuse(service, responder, NotReady(service.phase()));
    co_return;
  }
  const Result<std::vector<TokenId>> tokens = TokensOf(request.body, service, *model);
  if (!tokens.ok()) {
    co_await Refuse(service, responder, tokens.error());
    co_return;
  }
  json::object out;
  out["tokens"] = json::array(tokens->begin(), tokens->end());
  out["count"] = tokens->size();
  out["max_model_len"] = model->scheduling.context_length;
  co_await Reply(responder, json::serialize(out));
}

}  // namespace banyan::server::openai
