#include "server/small_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace banyan::server {

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, std::size_t most) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::InvalidArgumentError(error ? error.message() : "it is no regular file");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.eof() && !file) return absl::InvalidArgumentError("it cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty()) return absl::InvalidArgumentError("it is empty");
  if (text.size() > most) {
    return absl::InvalidArgumentError(absl::StrCat("it has more than ", most, " bytes"));
  }
  return text;
}

}  // namespace banyan::server
