#include "server/eval/configuration.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "server/kv_policy.h"

namespace banyan::server {
namespace {

// The texts between commas. One that only gives a value belongs to the configuration before it.
std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> texts;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string piece(list.substr(0, comma));
    const bool is_value =
        piece.find('=') != std::string::npos && piece.find('+') == std::string::npos;
    if (is_value && !texts.empty()) {
      absl::StrAppend(&texts.back(), ",", piece);
    } else {
      texts.push_back(piece);
    }
    if (comma == std::string_view::npos) return texts;
    list.remove_prefix(comma + 1);
  }
}

absl::StatusOr<Configuration> Parse(const std::string& text) {
  const std::string_view whole = text;
  const std::size_t plus = whole.find('+');
  const std::string_view name = whole.substr(0, plus);
  const std::optional<kernels::KvFormat> format = kernels::FindKvFormat(name);
  if (!format) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the format ", Quote(name), " is not known (known: ", AllConfigurations(), ")"));
  }
  Configuration configuration{.name = text, .format = *format};
  if (plus == std::string_view::npos) return configuration;
  absl::StatusOr<std::optional<scheduler::KvPolicy>> policy = ParseKvPolicy(whole.substr(plus + 1));
  if (!policy.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the policy of ", Quote(whole), ": ", policy.status().message()));
  }
  configuration.policy = *policy;
  return configuration;
}

}  // namespace

absl::StatusOr<std::vector<Configuration>> ParseConfigurations(std::string_view list) {
  const std::string exact(kernels::LayoutOf(kernels::KvFormat::kF16).name);
  std::vector<Configuration> all = {{.name = exact, .format = kernels::KvFormat::kF16}};
  bool named_exact = false;
  for (const std::string& text : Split(list)) {
    absl::StatusOr<Configuration> parsed = Parse(text);
    if (!parsed.ok()) return parsed.status();
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const Configuration& other) {
      return other.name == parsed->name;
    });
    if (is_known && (text != exact || named_exact)) {
      return absl::InvalidArgumentError(absl::StrCat(Quote(text), " is there twice"));
    }
    named_exact = named_exact || text == exact;
    if (!is_known) all.push_back(*std::move(parsed));
    if (all.size() > kMaxConfigurations) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxConfigurations, " configurations"));
    }
  }
  return all;
}

std::string AllConfigurations() {
  std::string names;
  for (const kernels::KvFormat format : kernels::kKvFormats) {
    absl::StrAppend(&names, names.empty() ? "" : ",", std::string(kernels::LayoutOf(format).name));
  }
  return names;
}

}  // namespace banyan::server
