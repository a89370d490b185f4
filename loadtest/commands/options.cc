#include "loadtest/commands/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {

int Fail(const absl::Status& status) {
  std::string line = absl::StrCat("banyan-loadtest: ", status.message());
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  std::fprintf(stderr, "%s\n", line.c_str());
  return kExitUsage;
}

absl::StatusOr<Tick> ParseTime(const std::string& text) {
  absl::Duration time;
  if (!absl::ParseDuration(text, &time) || time < absl::ZeroDuration() ||
      time > absl::Hours(24 * 365)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a time such as 500ms, 1.5s, 2m or 1h"));
  }
  return absl::ToChronoNanoseconds(time);
}

CLI::Option* AddTime(CLI::App& app, const std::string& name, Tick& time, const std::string& help) {
  auto set = [&time](const std::string& text) {
    const absl::StatusOr<Tick> parsed = ParseTime(text);
    if (!parsed.ok()) throw CLI::ValidationError(std::string(parsed.status().message()));
    time = *parsed;
  };
  return app.add_option_function<std::string>(name, set, help)->type_name("TIME");
}

bool WriteReport(const std::string& path, std::string_view bytes) {
  if (path.empty()) return true;
  const absl::Status written = WriteFile(path, bytes);
  if (!written.ok()) {
    Fail(absl::Status(written.code(), absl::StrCat(path, ": ", written.message())));
  }
  return written.ok();
}

}  // namespace banyan::loadtest
