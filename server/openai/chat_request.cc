#include "server/openai/chat_request.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "server/openai/fields.h"
#include "server/openai/strict_json.h"
#include "server/openai/unsupported.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

// One part of a content array, appended to `content`.
std::optional<http::Error> AppendPart(const json::value& part, const std::string& path,
                                      std::string& content) {
  if (!part.is_object()) {
    return Invalid(path, absl::StrCat("'", path, "' must be an object, not ",
                                      std::string(KindName(part)), "."));
  }
  Fields fields(part.get_object(), path);
  const std::optional<std::string_view> type = fields.Text("type");
  if (!type) {
    fields.Refuse("type", absl::StrCat("'", path, ".type' is missing."));
  } else if (*type != "text") {
    fields.Refuse("type", absl::StrCat("Content parts of the type '", std::string(*type),
                                       "' are not supported yet, only 'text'."));
  }
  const std::optional<std::string_view> text = fields.Text("text");
  if (!text) {
    fields.Refuse("text", absl::StrCat("'", path, ".text' is missing."));
  } else {
    content.append(*text);
  }
  return fields.error();
}

Result<std::string> ParseContent(const json::object& message, const std::string& path) {
  const std::string param = path + ".content";
  const json::value* content = message.if_contains("content");
  if (content == nullptr) return Invalid(param, absl::StrCat("'", param, "' is missing."));
  if (const json::string* text = content->if_string()) return std::string(*text);
  const json::array* parts = content->if_array();
  if (parts == nullptr) {
    return Invalid(param, absl::StrCat("'", param, "' must be a string or an array of parts, not ",
                                       std::string(KindName(*content)), "."));
  }
  if (parts->empty()) return Invalid(param, absl::StrCat("'", param, "' must not be empty."));
  std::string joined;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string part_path = absl::StrCat(param, "[", i, "]");
    if (auto error = AppendPart((*parts)[i], part_path, joined)) return *std::move(error);
  }
  return joined;
}

Result<json::object> ParseMessage(const json::value& value, const std::string& path) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return Invalid(path, absl::StrCat("'", path, "' must be an object, not ",
                                      std::string(KindName(value)), "."));
  }
  Fields fields(*object, path);
  const std::optional<std::string_view> role = fields.Text("role");
  if (!role) {
    fields.Refuse("role", absl::StrCat("'", path, ".role' is missing."));
  } else if (*role != "system" && *role != "user" && *role != "assistant") {
    fields.Refuse("role", absl::StrCat("The role '", std::string(role->substr(0, 64)),
                                       "' is not supported, only system, user and assistant."));
  }
  if (fields.error()) return *fields.error();
  if (auto error = RefuseUnsupportedInMessage(*object, path)) return *std::move(error);
  Result<std::string> content = ParseContent(*object, path);
  if (!content.ok()) return content.error();
  return json::object{{"role", *role}, {"content", std::move(*content)}};
}

std::optional<http::Error> CheckModel(Fields& fields, std::string_view model_name) {
  const std::optional<std::string_view> model = fields.Text("model");
  if (fields.error()) return fields.error();
  if (model && *model != model_name) return ModelNotFound(*model, model_name);
  return std::nullopt;
}

void ParseStops(Fields& fields, std::vector<std::string>& stops) {
  const json::value* value = fields.Any("stop");
  if (value == nullptr) return;
  auto add = [&](const json::value& one, const std::string& name) {
    const json::string* text = one.if_string();
    if (text == nullptr) {
      fields.Refuse(name, absl::StrCat("'", name, "' must be a string, not ",
                                       std::string(KindName(one)), "."));
    } else if (text->empty() || text->size() > kMaxStopStringBytes) {
      fields.Refuse(name,
                    absl::StrCat("'", name, "' must have 1 to ", kMaxStopStringBytes, " bytes."));
    } else {
      stops.emplace_back(*text);
    }
  };
  if (value->is_string()) return add(*value, "stop");
  const json::array* list = value->if_array();
  if (list == nullptr) {
    return fields.Refuse("stop", "'stop' must be a string or an array of strings.");
  }
  if (list->size() > kMaxStopStrings) {
    return fields.Refuse("stop",
                         absl::StrCat("'stop' must have at most ", kMaxStopStrings, " strings."));
  }
  for (std::size_t i = 0; i < list->size(); ++i) add((*list)[i], absl::StrCat("stop[", i, "]"));
}

void ParseSampling(Fields& fields, ChatRequest& request) {
  if (const auto temperature = fields.Number("temperature")) {
    if (*temperature < 0 || *temperature > 2) {
      fields.Refuse("temperature", "'temperature' must be between 0 and 2.");
    }
    request.temperature = static_cast<float>(*temperature);
  }
  if (const auto top_p = fields.Number("top_p")) {
    request.top_p = static_cast<float>(*top_p);  // what underflows is 0
    if (!(request.top_p > 0) || *top_p > 1) {
      fields.Refuse("top_p", "'top_p' must be over 0 and at most 1.");
    }
  }
  request.seed = fields.Bits("seed");
  request.ignore_eos = fields.Bool("ignore_eos").value_or(false);
}

void ParseLength(Fields& fields, ChatRequest& request) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  request.max_tokens = fields.Integer("max_tokens", 1, kMost);  // the older name
  if (const auto newer = fields.Integer("max_completion_tokens", 1, kMost)) {
    request.max_tokens = newer;
  }
}

void ParseStream(Fields& fields, ChatRequest& request) {
  request.stream = fields.Bool("stream").value_or(false);
  const json::object* options = fields.Object("stream_options");
  if (options == nullptr) return;
  if (!request.stream) {
    return fields.Refuse("stream_options", "'stream_options' is allowed only with 'stream': true.");
  }
  Fields inner(*options, "stream_options");
  request.include_usage = inner.Bool("include_usage").value_or(false);
  if (inner.Bool("continuous_usage_stats").value_or(false)) {
    inner.Refuse("continuous_usage_stats",
                 "'stream_options.continuous_usage_stats' is not supported yet.");
  }
  if (inner.error()) fields.Refuse(*inner.error());
}

}  // namespace

http::Error ModelNotFound(std::string_view asked, std::string_view served) {
  return http::Error{
      .status = 404,
      .code = "model_not_found",
      .message = absl::StrCat("The model '", std::string(asked.substr(0, 256)),
                              "' is not here; this server has '", std::string(served), "'."),
      .param = "model"};
}

Result<json::array> ParseMessages(const json::object& request) {
  Fields fields(request, "");
  const json::array* list = fields.Array("messages");
  if (fields.error()) return *fields.error();
  if (list == nullptr) return Invalid("messages", "'messages' is missing.");
  if (list->empty()) return Invalid("messages", "'messages' must not be empty.");
  json::array messages;
  messages.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    Result<json::object> message = ParseMessage((*list)[i], absl::StrCat("messages[", i, "]"));
    if (!message.ok()) return message.error();
    messages.push_back(std::move(*message));
  }
  return messages;
}

Result<ChatRequest> ParseChatRequest(std::string_view body, std::string_view model_name) {
  Result<json::object> object = ParseObject(body);
  if (!object.ok()) return object.error();
  Fields fields(*object, "");
  if (auto error = CheckModel(fields, model_name)) return *std::move(error);
  if (auto error = RefuseUnsupported(*object)) return *std::move(error);

  ChatRequest request;
  Result<json::array> messages = ParseMessages(*object);
  if (!messages.ok()) return messages.error();
  request.messages = std::move(*messages);
  ParseLength(fields, request);
  ParseSampling(fields, request);
  ParseStops(fields, request.stop);
  ParseStream(fields, request);
  if (fields.error()) return *fields.error();
  return request;
}

}  // namespace banyan::server::openai
