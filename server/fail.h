// How a command of `banyan` ends when it cannot do what was asked.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace banyan::server {

// "banyan: <reason>", in one line whatever the reason holds.
std::string FailureLine(absl::string_view reason);

// Prints that line on stderr; returns the exit code 1.
int Fail(absl::string_view reason);

}  // namespace banyan::server
