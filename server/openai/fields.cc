#include "server/openai/fields.h"

#include <boost/json/value.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace banyan::server::openai {

namespace json = boost::json;

std::string_view KindName(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "an integer";
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "a value";
}

const json::value* Fields::Any(std::string_view name) const {
  if (error_) return nullptr;
  const json::value* value = object_.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Fields::Param(std::string_view name) const {
  return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", std::string(name));
}

void Fields::Refuse(std::string_view name, std::string message) {
  Refuse(Invalid(Param(name), std::move(message)));
}

void Fields::Refuse(http::Error error) {
  if (!error_) error_ = std::move(error);
}

void Fields::WrongType(std::string_view name, std::string_view wanted) {
  Refuse(name, absl::StrCat("'", Param(name), "' must be ", std::string(wanted), ", not ",
                            std::string(KindName(*Any(name))), "."));
}

std::optional<bool> Fields::Bool(std::string_view name) {
  const json::value* value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->get_bool();
  WrongType(name, "a boolean");
  return std::nullopt;
}

std::optional<std::int64_t> Fields::Integer(std::string_view name, std::int64_t low,
                                            std::int64_t high) {
  const json::value* value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_int64() && !value->is_uint64()) {
    WrongType(name, "an integer");
    return std::nullopt;
  }
  // What only fits unsigned is over any bound.
  if (value->is_uint64() || value->get_int64() < low || value->get_int64() > high) {
    Refuse(name, absl::StrCat("'", Param(name), "' must be between ", low, " and ", high, "."));
    return std::nullopt;
  }
  return value->get_int64();
}

std::optional<std::uint64_t> Fields::Bits(std::string_view name) {
  const json::value* value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_int64()) return static_cast<std::uint64_t>(value->get_int64());
  WrongType(name, "an integer of 64 bits");
  return std::nullopt;
}

std::optional<double> Fields::Number(std::string_view name, double low, double high) {
  const json::value* value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    WrongType(name, "a number");
    return std::nullopt;
  }
  const auto number = value->to_number<double>();
  if (number < low || number > high) {
    Refuse(name, absl::StrCat("'", Param(name), "' must be between ", low, " and ", high, "."));
    return std::nullopt;
  }
  return number;
}

std::optional<std::string_view> Fields::Text(std::string_view name) {
  const json::value* value = Any(name);
  if (value == nullptr) return std::nullopt;
  if (const json::string* text = value->if_string()) {
    return std::string_view(text->data(), text->size());
  }
  WrongType(name, "a string");
  return std::nullopt;
}

const json::object* Fields::Object(std::string_view name) {
  const json::value* value = Any(name);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->get_object();
  WrongType(name, "an object");
  return nullptr;
}

const json::array* Fields::Array(std::string_view name) {
  const json::value* value = Any(name);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->get_array();
  WrongType(name, "an array");
  return nullptr;
}

}  // namespace banyan::server::openai
