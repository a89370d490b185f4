#include "server/validators.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/model.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

// Accepts what `parse` accepts, between the bounds; the message becomes "--name: message".
template <class ParseFunction>
CLI::Validator Between(ParseFunction parse, std::int64_t low, std::int64_t high,
                       std::string low_text, std::string high_text) {
  auto check = [=](const std::string& text) -> std::string {
    const auto value = parse(text);
    if (!value.ok()) return std::string(value.status().message());
    if (*value < low) return absl::StrCat(text, " is under the least value, ", low_text);
    if (*value > high) return absl::StrCat(text, " is over the greatest value, ", high_text);
    return "";
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::Validator Integers(std::int64_t low, std::int64_t high) {
  return Between(ParseInteger, low, high, absl::StrCat(low), absl::StrCat(high));
}

CLI::Validator Bytes(std::int64_t low, std::int64_t high) {
  return Between(ParseBytes, low, high, FormatBytes(low), FormatBytes(high));
}

CLI::Validator Durations(std::int64_t low_ms, std::int64_t high_ms) {
  auto parse = [](std::string_view text) -> absl::StatusOr<std::int64_t> {
    const auto duration = ParseDuration(text);
    if (!duration.ok()) return duration.status();
    return duration->count();
  };
  return Between(parse, low_ms, high_ms, absl::StrCat(low_ms, "ms"), absl::StrCat(high_ms, "ms"));
}

CLI::Validator CpuVariant() {
  auto check = [](const std::string& text) -> std::string {
    const std::vector<std::string> names = model::CpuVariants();
    if (text == "auto" || std::find(names.begin(), names.end(), text) != names.end()) return "";
    return absl::StrCat("this machine does not run '", text, "' (use auto, ",
                        absl::StrJoin(names, ", "), ")");
  };
  return CLI::Validator(check, "");
}

}  // namespace banyan::server
