#include "server/fail.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/quote.h"

namespace banyan::server {

std::string FailureLine(absl::string_view reason) {
  return OnOneLine(absl::StrCat("banyan: ", reason));
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
