// A file that is read whole: a template, a configuration.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace banyan::server {

// kInvalidArgument says why there is none: it is missing, no regular file, empty, or has more than
// `most` bytes. The message leaves out the path.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, std::size_t most);

}  // namespace banyan::server
