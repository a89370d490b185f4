// Runs another program to its end.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace banyan::server {

// `arguments` begin with the program, which is looked up in PATH; no shell is involved. It reads
// nothing, and what it says goes to the file `log`. Ctrl-C ends it, and not this process.
// kNotFound when there is no such program, kAborted when it ended otherwise than with status 0:
// with the last line that it said, an error before others.
absl::Status RunProgram(const std::vector<std::string>& arguments, const std::string& log);

}  // namespace banyan::server
