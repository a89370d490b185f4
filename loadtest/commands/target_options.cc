#include "loadtest/commands/target_options.h"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace banyan::loadtest {

void AddTargetOptions(CLI::App& app, TypedTarget& typed) {
  constexpr const char* kGroup = "Target";
  app.add_option("url", typed.url, "the server's base URL; /v1 at its end is left out")->required();
  app.add_option("--model", typed.model, "default: the first of /v1/models")->group(kGroup);
  app.add_option("--api", typed.api, "chat or completions")
      ->check(CLI::IsMember({"chat", "completions"}))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--api-key", typed.api_key, "sent as a bearer token")
      ->envname("OPENAI_API_KEY")
      ->group(kGroup);
  app.add_option("--header", typed.headers, "'Name: value' of every request; may be repeated")
      ->group(kGroup);
  app.add_option("--ca-file", typed.ca_file, "certificates to trust beside the system's")
      ->group(kGroup);
  app.add_flag("--insecure", typed.insecure, "any certificate is good")->group(kGroup);
}

absl::StatusOr<TargetOptions> ReadTarget(const TypedTarget& typed) {
  absl::StatusOr<http::Url> url = http::ParseUrl(typed.url);
  if (!url.ok()) return url.status();
  if (absl::EndsWith(url->path, "/v1")) url->path.resize(url->path.size() - 3);
  TargetOptions target;
  target.http.base = *std::move(url);
  target.http.ca_file = typed.ca_file;
  target.http.verify_peer = !typed.insecure;
  target.model = typed.model;
  target.api = typed.api == "chat" ? Api::kChat : Api::kCompletions;
  if (!typed.api_key.empty()) {
    target.http.headers.emplace_back("Authorization", "Bearer " + typed.api_key);
  }
  for (const std::string& header : typed.headers) {
    const std::vector<std::string> parts = absl::StrSplit(header, absl::MaxSplits(':', 1));
    if (parts.size() != 2 || parts[0].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--header: '", header, "' is no 'Name: value'"));
    }
    target.http.headers.emplace_back(parts[0], std::string(absl::StripAsciiWhitespace(parts[1])));
  }
  return target;
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace banyan::loadtest
