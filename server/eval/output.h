// The files that an evaluation leaves behind.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace banyan::server {

inline constexpr std::string_view kMarkBegin = "<!-- banyan eval -->\n";
inline constexpr std::string_view kMarkEnd = "<!-- end -->";

// All do nothing where `path` is empty: the file was not asked for. Errors name it.

// Makes the file where there is none.
absl::Status CheckWritable(const std::string& path);
// Whether WriteBetweenMarks can do its work.
absl::Status CheckMarks(const std::string& path);
absl::Status WriteWhole(const std::string& path, const std::string& text);
// In place of what is between kMarkBegin and the kMarkEnd after it in the file, or as the whole
// file where it has nothing in it. A file with other content and without marks is an error.
absl::Status WriteBetweenMarks(const std::string& path, const std::string& text);

}  // namespace banyan::server
