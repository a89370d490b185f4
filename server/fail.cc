#include "server/fail.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace banyan::server {

std::string FailureLine(absl::string_view reason) {
  std::string line = absl::StrCat("banyan: ", reason);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

int Fail(absl::string_view reason) {
  std::fprintf(stderr, "%s\n", FailureLine(reason).c_str());
  return 1;
}

int Print(absl::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? 0 : Fail(absl::StrCat("stdout cannot be written: ", std::strerror(errno)));
}

}  // namespace banyan::server
