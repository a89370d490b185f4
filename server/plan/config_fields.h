// The members of a config.json, read by name and type.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace banyan::server {

// Of a model of text and more, "text_config" describes the part that has a KV cache; what it leaves
// out is looked for beside it. null counts as absent. What is wrong reads as absent, and the first
// error is kept: kInvalidArgument that names the member.
class ConfigFields {
 public:
  explicit ConfigFields(const boost::json::object& root);

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  std::optional<std::int64_t> Integer(std::string_view name, std::int64_t low, std::int64_t high);
  std::optional<bool> Bool(std::string_view name);
  std::string String(std::string_view name);  // "" when absent
  const boost::json::array* Array(std::string_view name);
  const boost::json::object* Object(std::string_view name);

  // As Integer, where the member must be there; `low` when it is not.
  std::int64_t Needed(std::string_view name, std::int64_t low, std::int64_t high);

  void Fail(const std::string& message);
  const absl::Status& status() const { return status_; }

 private:
  const boost::json::value* Find(std::string_view name) const;
  void WrongType(std::string_view name, std::string_view wanted);

  const boost::json::object& root_;
  const boost::json::object* text_ = nullptr;  // within root_
  absl::Status status_;
};

}  // namespace banyan::server
