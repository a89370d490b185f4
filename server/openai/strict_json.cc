#include "server/openai/strict_json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;
using json::error_code;

// Builds a value from the parser's events; refuses what a plain parse would let pass.
class Builder {
 public:
  static constexpr std::size_t max_object_size = kMaxJsonValues;
  static constexpr std::size_t max_array_size = kMaxJsonValues;
  static constexpr std::size_t max_key_size = std::size_t{1} << 20;
  static constexpr std::size_t max_string_size = std::size_t{1} << 30;

  explicit Builder(std::size_t& values_left) : values_left_(values_left) {}

  json::value Release() { return stack_.release(); }
  // What was refused here and not by the parser; empty if nothing was.
  const std::string& refusal() const { return refusal_; }

  bool on_document_begin(error_code&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    keys_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t count, error_code& error) {
    keys_.pop_back();
    stack_.push_object(count);
    return Count(error);
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t count, error_code& error) {
    stack_.push_array(count);
    return Count(error);
  }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    key_.append(part.data(), part.size());
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code& error) {
    key_.append(part.data(), part.size());
    if (!keys_.back().insert(key_).second) {
      return Refuse(absl::StrCat("the key \"", key_.substr(0, 64), "\" is there twice"), error);
    }
    key_.clear();
    stack_.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code& error) {
    stack_.push_string(part);
    return Count(error);
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t number, json::string_view, error_code& error) {
    stack_.push_int64(number);
    return Count(error);
  }
  bool on_uint64(std::uint64_t number, json::string_view, error_code& error) {
    stack_.push_uint64(number);
    return Count(error);
  }
  bool on_double(double number, json::string_view, error_code& error) {
    if (!std::isfinite(number)) return Refuse("a number is too large", error);
    stack_.push_double(number);
    return Count(error);
  }
  bool on_bool(bool truth, error_code& error) {
    stack_.push_bool(truth);
    return Count(error);
  }
  bool on_null(error_code& error) {
    stack_.push_null();
    return Count(error);
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  bool Count(error_code& error) {
    if (values_left_ > 0) {
      --values_left_;
      return true;
    }
    return Refuse(absl::StrCat("it has more than ", kMaxJsonValues, " values"), error);
  }
  bool Refuse(std::string why, error_code& error) {
    refusal_ = std::move(why);
    error = json::error::extra_data;  // any error stops the parser; refusal_ says which it was
    return false;
  }

  json::value_stack stack_;
  std::vector<absl::flat_hash_set<std::string>> keys_;  // of the objects that are open
  std::string key_;
  std::size_t& values_left_;
  std::string refusal_;
};

}  // namespace

Result<json::object> ParseObject(std::string_view text) {
  std::size_t values_left = kMaxJsonValues;
  return ParseObject(text, values_left);
}

Result<json::object> ParseObject(std::string_view text, std::size_t& values_left) {
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::basic_parser<Builder> parser(options, values_left);
  error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) {
    const std::size_t rest = text.find_first_not_of(" \t\r\n", read);
    if (rest != std::string_view::npos) error = json::error::extra_data;
  }
  if (error) {
    const std::string& refusal = parser.handler().refusal();
    return Invalid(
        "", absl::StrCat("The body is not valid JSON: ",
                         refusal.empty() ? error.message() : refusal, " (at byte ", read, ")."));
  }
  json::value value = parser.handler().Release();
  json::object* object = value.if_object();
  if (object == nullptr) return Invalid("", "The body must be a JSON object.");
  return std::move(*object);
}

}  // namespace banyan::server::openai
