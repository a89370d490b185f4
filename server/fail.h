// How a command of `banyan` ends: with its answer, or with the reason why there is none.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace banyan::server {

// "banyan: <reason>", in one line whatever the reason holds.
std::string FailureLine(absl::string_view reason);

// Prints that line on stderr; returns the exit code 1.
int Fail(absl::string_view reason);

// Prints `text` on stdout, all that a command has to say; returns the exit code 0, or fails where
// it cannot be written (a full disk).
int Print(absl::string_view text);

}  // namespace banyan::server
