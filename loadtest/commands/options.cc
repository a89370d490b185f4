#include "loadtest/commands/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/quote.h"
#include "loadtest/report/report.h"
#include "loadtest/workload/bytes.h"

namespace banyan::loadtest {

int Fail(const absl::Status& status) {
  const std::string line = OnOneLine(absl::StrCat("banyan-loadtest: ", status.message()));
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
  if (!written.ok()) Fail(written);  // it names the path
  return written.ok();
}

absl::StatusOr<std::string> ReadWhole(const std::string& path, std::size_t most) {
  const absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenBytes(path);
  if (!source.ok()) return source.status();
  std::string text;
  std::vector<char> part(std::size_t{1} << 20);
  for (;;) {
    const absl::StatusOr<std::size_t> read = (*source)->Read(part.data(), part.size());
    if (!read.ok()) return read.status();
    if (*read == 0) return text;
    if (text.size() + *read > most) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has over ", most, " bytes"));
    }
    text.append(part.data(), *read);
  }
}

bool Print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

}  // namespace banyan::loadtest
