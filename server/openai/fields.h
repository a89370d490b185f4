// Reads the members of a request's object by name and type. The first fault is kept and every later
// read does nothing, so that a parser is a list of reads and one look at error().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "server/openai/result.h"

namespace banyan::server::openai {

// null counts as absent, as the OpenAI API has it.
class Fields {
 public:
  // `path` is put before names in errors: "stream_options" gives "stream_options.include_usage".
  // `object` outlives the reader.
  Fields(const boost::json::object& object, std::string path)
      : object_(object), path_(std::move(path)) {}

  std::optional<bool> Bool(std::string_view name);
  // Integers between the bounds, both included.
  std::optional<std::int64_t> Integer(std::string_view name, std::int64_t low, std::int64_t high);
  // Any 64-bit integer, signed or not, as its bits.
  std::optional<std::uint64_t> Bits(std::string_view name);
  // Numbers between the bounds, both included.
  std::optional<double> Number(std::string_view name, double low, double high);
  std::optional<std::string_view> Text(std::string_view name);
  const boost::json::object* Object(std::string_view name);
  const boost::json::array* Array(std::string_view name);
  // Whatever its type; null when absent or null.
  const boost::json::value* Any(std::string_view name) const;

  // "path.name"
  std::string Param(std::string_view name) const;
  // Keeps a fault that the caller found, unless there is one already.
  void Refuse(std::string_view name, std::string message);
  void Refuse(http::Error error);

  const std::optional<http::Error>& error() const { return error_; }

 private:
  void WrongType(std::string_view name, std::string_view wanted);

  const boost::json::object& object_;
  const std::string path_;
  std::optional<http::Error> error_;
};

// How a message names a value's kind: "a string", "an array", ...
std::string_view KindName(const boost::json::value& value);

}  // namespace banyan::server::openai
