#include "server/fail.h"

#include <algorithm>
#include <cstdio>

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

}  // namespace banyan::server
