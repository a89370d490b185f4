#include "server/plan/config_fields.h"

#include "absl/strings/str_cat.h"

namespace banyan::server {

namespace json = boost::json;

ConfigFields::ConfigFields(const json::object& root) : root_(root) {
  if (const json::value* text = root.if_contains("text_config")) text_ = text->if_object();
}

const json::value* ConfigFields::Find(std::string_view name) const {
  const json::string_view key(name.data(), name.size());
  for (const json::object* object : {text_, &root_}) {
    if (object == nullptr) continue;
    const json::value* value = object->if_contains(key);
    if (value != nullptr && !value->is_null()) return value;
  }
  return nullptr;
}

void ConfigFields::Fail(const std::string& message) {
  status_.Update(absl::InvalidArgumentError(message));
}

void ConfigFields::WrongType(std::string_view name, std::string_view wanted) {
  Fail(absl::StrCat("'", std::string(name), "' is not ", std::string(wanted)));
}

std::optional<std::int64_t> ConfigFields::Integer(std::string_view name, std::int64_t low,
                                                  std::int64_t high) {
  const json::value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  json::error_code error;
  const auto number = value->to_number<std::int64_t>(error);  // 4096.0 is one too
  if (error) {
    WrongType(name, value->is_number() ? "a whole number of 64 bits" : "a number");
    return std::nullopt;
  }
  if (number < low || number > high) {
    Fail(absl::StrCat("'", std::string(name), "' is ", number, "; ", low, " to ", high,
                      " is allowed"));
    return std::nullopt;
  }
  return number;
}

std::int64_t ConfigFields::Needed(std::string_view name, std::int64_t low, std::int64_t high) {
  if (!Has(name)) Fail(absl::StrCat("'", std::string(name), "' is missing"));
  return Integer(name, low, high).value_or(low);
}

std::optional<bool> ConfigFields::Bool(std::string_view name) {
  const json::value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) {
    WrongType(name, "true or false");
    return std::nullopt;
  }
  return value->get_bool();
}

std::string ConfigFields::String(std::string_view name) {
  const json::value* value = Find(name);
  if (value == nullptr) return "";
  if (!value->is_string()) {
    WrongType(name, "a text");
    return "";
  }
  return std::string(value->get_string().c_str(), value->get_string().size());
}

const json::array* ConfigFields::Array(std::string_view name) {
  const json::value* value = Find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) WrongType(name, "a list");
  return value->if_array();
}

const json::object* ConfigFields::Object(std::string_view name) {
  const json::value* value = Find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) WrongType(name, "an object");
  return value->if_object();
}

}  // namespace banyan::server
