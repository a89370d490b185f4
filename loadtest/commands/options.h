// What the commands' options have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"

namespace banyan::loadtest {

// How the process ends; docs/loadtest.md says it to users.
enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 1,        // options, a file that cannot be read or written
  kExitUnreachable = 2,  // the server never answered
  kExitFailures = 3,     // some requests failed
  kExitInterrupted = 130,
};

// "banyan-loadtest: <status>" on stderr, in one line; returns kExitUsage.
int Fail(const absl::Status& status);

// "500ms", "1.5s", "2m", "1h"; not negative.
absl::StatusOr<Tick> ParseTime(const std::string& text);

// An option that takes such a time. The validator lets nothing else pass.
CLI::Option* AddTime(CLI::App& app, const std::string& name, Tick& time, const std::string& help);

// Writes to `path` if it is not ""; says so on stderr when it cannot. False then.
bool WriteReport(const std::string& path, std::string_view bytes);

// All of a file of at most `most` bytes, decompressed where it is an archive. The status names it.
absl::StatusOr<std::string> ReadWhole(const std::string& path, std::size_t most);

// On stdout. False when it could not be written.
bool Print(std::string_view text);

}  // namespace banyan::loadtest
