#include "loadtest/workload/json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace banyan::loadtest {
namespace {

namespace json = boost::json;
using json::error_code;

constexpr std::size_t kBufferBytes = 1 << 18;

// Builds a value from the parser's events and counts keys, since a value keeps only the last one of
// two alike.
class Builder {
 public:
  static constexpr std::size_t max_object_size = 1 << 20;
  static constexpr std::size_t max_array_size = 1 << 20;
  static constexpr std::size_t max_key_size = 1 << 20;
  static constexpr std::size_t max_string_size = 1 << 30;

  void Reset(json::storage_ptr memory) {
    stack_.reset(std::move(memory));
    keys_ = 0;
  }
  json::value Release() { return stack_.release(); }
  std::size_t keys() const { return keys_; }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t count, error_code&) {
    keys_ += count;
    stack_.push_object(count);
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t count, error_code&) {
    stack_.push_array(count);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    stack_.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    stack_.push_string(part);
    return true;
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, json::string_view, error_code&) {
    stack_.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, json::string_view, error_code&) {
    stack_.push_uint64(value);
    return true;
  }
  bool on_double(double value, json::string_view, error_code&) {
    stack_.push_double(value);
    return true;
  }
  bool on_bool(bool value, error_code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(error_code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  json::value_stack stack_;
  std::size_t keys_ = 0;
};

// Members of all objects in `value`.
std::size_t CountMembers(const json::value& value) {
  std::size_t members = 0;
  if (const json::object* const object = value.if_object()) {
    members = object->size();
    for (const json::key_value_pair& member : *object) members += CountMembers(member.value());
  } else if (const json::array* const array = value.if_array()) {
    for (const json::value& element : *array) members += CountMembers(element);
  }
  return members;
}

absl::Status Wrong(std::string_view name, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(name), " ", std::string(what)));
}

}  // namespace

struct JsonReader::State {
  std::unique_ptr<unsigned char[]> buffer = std::make_unique<unsigned char[]>(kBufferBytes);
  json::monotonic_resource memory{buffer.get(), kBufferBytes};
  json::basic_parser<Builder> parser{json::parse_options()};
  std::optional<json::value> value;
};

JsonReader::JsonReader() : state_(std::make_unique<State>()) {}
JsonReader::~JsonReader() = default;

absl::StatusOr<const json::object*> JsonReader::Read(std::string_view text) {
  State& state = *state_;
  Builder& builder = state.parser.handler();
  state.value.reset();
  builder.Reset({});
  state.memory.release();
  builder.Reset(&state.memory);
  state.parser.reset();
  error_code error;
  const std::size_t used = state.parser.write_some(/*more=*/false, text.data(), text.size(), error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("not JSON: ", error.message()));
  if (used < text.size()) return absl::InvalidArgumentError("something follows the JSON object");
  state.value.emplace(builder.Release());
  const json::object* const object = state.value->if_object();
  if (object == nullptr) return absl::InvalidArgumentError("not a JSON object");
  if (CountMembers(*state.value) != builder.keys()) {
    return absl::InvalidArgumentError("a key is there twice");
  }
  return object;
}

const json::value* FindMember(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

absl::StatusOr<std::optional<std::int64_t>> FindInteger(const json::object& object,
                                                        std::string_view name, std::int64_t min,
                                                        std::int64_t max) {
  const json::value* const value = FindMember(object, name);
  if (value == nullptr) return std::nullopt;
  if (value->is_uint64()) return Wrong(name, absl::StrCat("is over ", max));
  const std::int64_t* const number = value->if_int64();
  if (number == nullptr) return Wrong(name, "is not a whole number");
  if (*number < min) return Wrong(name, absl::StrCat("is ", *number, ", under ", min));
  if (*number > max) return Wrong(name, absl::StrCat("is ", *number, ", over ", max));
  return *number;
}

absl::StatusOr<std::int64_t> Integer(const json::object& object, std::string_view name,
                                     std::int64_t min, std::int64_t max) {
  const absl::StatusOr<std::optional<std::int64_t>> number = FindInteger(object, name, min, max);
  if (!number.ok()) return number.status();
  if (!number->has_value()) return Wrong(name, "is missing");
  return **number;
}

absl::StatusOr<std::optional<Tick>> FindTime(const json::object& object, std::string_view name,
                                             Tick unit) {
  const json::value* const value = FindMember(object, name);
  if (value == nullptr) return std::nullopt;
  error_code error;
  const double number = value->to_number<double>(error);
  if (error) return Wrong(name, "is not a number");
  const absl::StatusOr<Tick> time = TimeOf(number, unit, name);
  if (!time.ok()) return time.status();
  return *time;
}

absl::StatusOr<std::optional<std::string>> FindText(const json::object& object,
                                                    std::string_view name) {
  const json::value* const value = FindMember(object, name);
  if (value == nullptr) return std::nullopt;
  const json::string* const text = value->if_string();
  if (text == nullptr) return Wrong(name, "is not a string");
  return std::string(text->data(), text->size());
}

absl::StatusOr<Tick> TimeOf(double units, Tick unit, std::string_view name) {
  // What is no number compares false.
  if (!(units >= 0)) return Wrong(name, "is negative or no number");
  if (units * Seconds(unit) > kMaxSeconds) {
    return Wrong(name, absl::StrCat("is over ", kMaxSeconds, " seconds"));
  }
  return Tick(static_cast<Tick::rep>(std::floor(units * static_cast<double>(unit.count()) + 0.5)));
}

}  // namespace banyan::loadtest
