// `banyan eval`: what small KV pages cost in quality, and what they save.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/eval/report.h"
#include "server/options.h"

namespace banyan::server {

// Told what is measured, how much of it is done, and how much there is.
using EvalProgress =
    std::function<void(const std::string& what, std::int64_t done, std::int64_t all)>;

// Errors are one line: a file that cannot be read, a text that is empty or too short, a context
// over the model's.
absl::StatusOr<EvalReport> MakeEvalReport(const EvalOptions& options, const EvalProgress& progress);

// Prints the tables on stdout, writes the files that were asked for, and, on a terminal's stderr,
// how far it is. Returns the exit code: 1 with one line on stderr.
int RunEval(const EvalOptions& options);

}  // namespace banyan::server
