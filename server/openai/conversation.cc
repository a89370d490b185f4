#include "server/openai/conversation.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/openai/fields.h"
#include "server/openai/strict_json.h"
#include "server/openai/unsupported.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

http::Error WrongType(const std::string& path, std::string_view wanted, const json::value& value) {
  return Invalid(path, absl::StrCat("'", path, "' must be ", std::string(wanted), ", not ",
                                    std::string(KindName(value)), "."));
}

// One part of a content array, appended to `content`.
std::optional<http::Error> AppendPart(const json::value& part, const std::string& path,
                                      std::string& content) {
  if (!part.is_object()) return WrongType(path, "an object", part);
  Fields fields(part.get_object(), path);
  const std::optional<std::string_view> type = fields.Text("type");
  if (!type) {
    fields.Refuse("type", absl::StrCat("'", path, ".type' is missing."));
  } else if (*type != "text") {
    fields.Refuse("type",
                  absl::StrCat("Content parts of the type '", std::string(type->substr(0, 64)),
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

Result<std::string> ParseContent(const json::value* content, std::string_view role,
                                 const std::string& param) {
  if (content == nullptr || content->is_null()) {
    if (role == "assistant") return std::string();
    if (content == nullptr) return Invalid(param, absl::StrCat("'", param, "' is missing."));
  }
  if (const json::string* text = content->if_string()) return std::string(*text);
  const json::array* parts = content->if_array();
  if (parts == nullptr) return WrongType(param, "a string or an array of parts", *content);
  if (parts->empty()) return Invalid(param, absl::StrCat("'", param, "' must not be empty."));
  std::string joined;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string path = absl::StrCat(param, "[", i, "]");
    if (auto error = AppendPart((*parts)[i], path, joined)) return *std::move(error);
  }
  return joined;
}

// A string that is no object stays what the model once wrote.
void OpenArguments(json::object& call, std::size_t& values_left) {
  json::value* function = call.if_contains("function");
  if (function == nullptr || !function->is_object()) return;
  json::value* arguments = function->get_object().if_contains("arguments");
  if (arguments == nullptr || !arguments->is_string()) return;
  const json::string& text = arguments->get_string();
  if (text.empty()) {
    *arguments = json::object();
    return;
  }
  Result<json::object> object =
      ParseObject(std::string_view(text.data(), text.size()), values_left);
  if (object.ok()) *arguments = std::move(*object);
}

// The body's bound does not see into the arguments, so they have one of their own.
std::optional<http::Error> OpenCalls(json::array& calls, const std::string& path,
                                     std::size_t& values_left) {
  for (json::value& call : calls) OpenArguments(call.get_object(), values_left);
  if (values_left > 0) return std::nullopt;
  return Invalid(path, absl::StrCat("The arguments of all tool calls together must have fewer ",
                                    "than ", kMaxJsonValues, " values."));
}

std::optional<http::Error> CheckObjects(const json::array& list, const std::string& path) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object())
      return WrongType(absl::StrCat(path, "[", i, "]"), "an object", list[i]);
  }
  return std::nullopt;
}

// What the API knows of a message besides its role and content.
std::optional<http::Error> CheckMembers(Fields& fields) {
  for (const std::string_view name : {"name", "tool_call_id", "reasoning_content"}) {
    fields.Text(name);
  }
  const json::array* calls = fields.Array("tool_calls");
  if (fields.error()) return fields.error();
  return calls == nullptr ? std::nullopt : CheckObjects(*calls, fields.Param("tool_calls"));
}

Result<json::object> ParseMessage(const json::value& value, const std::string& path,
                                  std::size_t& values_left) {
  const json::object* object = value.if_object();
  if (object == nullptr) return WrongType(path, "an object", value);
  Fields fields(*object, path);
  const std::optional<std::string_view> role = fields.Text("role");
  if (!role) fields.Refuse("role", absl::StrCat("'", path, ".role' is missing."));
  if (fields.error()) return *fields.error();
  if (auto error = RefuseUnsupportedInMessage(*object, path)) return *std::move(error);
  if (auto error = CheckMembers(fields)) return *std::move(error);
  Result<std::string> content =
      ParseContent(object->if_contains("content"), *role, path + ".content");
  if (!content.ok()) return content.error();

  json::object message{{"role", *role == "developer" ? "system" : *role},
                       {"content", std::move(*content)}};
  for (const auto& member : *object) {  // null is absent; role and content stay what they are
    if (!member.value().is_null()) message.emplace(member.key(), member.value());
  }
  if (json::value* calls = message.if_contains("tool_calls")) {
    if (auto error = OpenCalls(calls->get_array(), path + ".tool_calls", values_left)) {
      return *std::move(error);
    }
  }
  return message;
}

Result<json::array> ParseMessages(Fields& fields) {
  const json::array* list = fields.Array("messages");
  if (fields.error()) return *fields.error();
  if (list == nullptr) return Invalid("messages", "'messages' is missing.");
  if (list->empty()) return Invalid("messages", "'messages' must not be empty.");
  json::array messages;
  messages.reserve(list->size());
  std::size_t values_left = kMaxJsonValues;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Result<json::object> message =
        ParseMessage((*list)[i], absl::StrCat("messages[", i, "]"), values_left);
    if (!message.ok()) return message.error();
    messages.push_back(std::move(*message));
  }
  return messages;
}

Result<json::array> ParseTools(Fields& fields) {
  const json::array* tools = fields.Array("tools");
  if (fields.error()) return *fields.error();
  if (tools == nullptr) return json::array();
  if (tools->size() > kMaxTools) {
    return Invalid("tools", absl::StrCat("'tools' must have at most ", kMaxTools, " tools."));
  }
  if (auto error = CheckObjects(*tools, "tools")) return *std::move(error);
  return *tools;
}

Result<json::object> ParseArguments(Fields& fields) {
  constexpr std::string_view kName = "chat_template_kwargs";
  const json::object* arguments = fields.Object(kName);
  if (fields.error()) return *fields.error();
  if (arguments == nullptr) return json::object();
  if (arguments->size() > kMaxTemplateArguments) {
    return Invalid(std::string(kName), absl::StrCat("'", std::string(kName), "' must have at most ",
                                                    kMaxTemplateArguments, " members."));
  }
  for (const char* own : {"messages", "tools", "add_generation_prompt"}) {
    if (!arguments->contains(own)) continue;
    const std::string param = absl::StrCat(std::string(kName), ".", own);
    return Invalid(param, absl::StrCat("'", param, "' is a field of the request itself."));
  }
  return *arguments;
}

}  // namespace

Result<text::Conversation> ParseConversation(const json::object& request, std::int64_t now) {
  Fields fields(request, "");
  Result<json::array> messages = ParseMessages(fields);
  if (!messages.ok()) return messages.error();
  Result<json::array> tools = ParseTools(fields);
  if (!tools.ok()) return tools.error();
  Result<json::object> arguments = ParseArguments(fields);
  if (!arguments.ok()) return arguments.error();
  const std::optional<bool> open = fields.Bool("add_generation_prompt");
  if (fields.error()) return *fields.error();
  return text::Conversation{.messages = std::move(*messages),
                            .tools = std::move(*tools),
                            .arguments = std::move(*arguments),
                            .add_generation_prompt = open.value_or(true),
                            .now = now};
}

}  // namespace banyan::server::openai
