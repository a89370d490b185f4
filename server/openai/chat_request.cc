#include "server/openai/chat_request.h"

#include <boost/json/object.hpp>
#include <optional>
#include <utility>

#include "server/openai/body.h"
#include "server/openai/conversation.h"
#include "server/openai/fields.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

void ParseLogprobs(Fields& fields, Generation& generation) {
  const bool wanted = fields.Bool("logprobs").value_or(false);
  const std::optional<std::int64_t> top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs);
  if (wanted) {
    generation.logprobs = static_cast<std::int32_t>(top.value_or(0));
  } else if (top.value_or(0) > 0) {
    fields.Refuse("top_logprobs", "'top_logprobs' is allowed only with 'logprobs': true.");
  }
}

// Tools may be shown to the template; answers are not searched for calls of them.
void CheckTools(Fields& fields, const text::Conversation& conversation) {
  const json::value* choice = fields.Any("tool_choice");
  if (choice != nullptr && *choice != "none") {
    fields.Refuse("tool_choice", "'tool_choice' is not supported yet with a value but 'none'.");
  }
  if (choice == nullptr && !conversation.tools.empty()) {
    fields.Refuse("tools", "'tools' is not supported yet unless 'tool_choice' is 'none'.");
  }
}

}  // namespace

Result<ChatRequest> ParseChatRequest(std::string_view body, std::string_view model_name,
                                     std::int32_t vocabulary_size, std::int64_t now) {
  const Result<json::object> object = ParseBody(body, model_name, Route::kChat);
  if (!object.ok()) return object.error();
  Result<text::Conversation> conversation = ParseConversation(*object, now);
  if (!conversation.ok()) return conversation.error();
  Fields fields(*object, "");
  ChatRequest request;
  request.conversation = std::move(*conversation);
  CheckTools(fields, request.conversation);
  if (!fields.Bool("add_special_tokens").value_or(true)) {
    request.added = text::AddedTokens::kNone;
  }
  request.generation = ParseGeneration(fields, vocabulary_size);
  ParseLogprobs(fields, request.generation);
  if (fields.error()) return *fields.error();
  return request;
}

}  // namespace banyan::server::openai
