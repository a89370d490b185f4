#include "text/jinja/error.h"

#include "absl/strings/str_cat.h"

namespace banyan::text::jinja {

absl::Status Error::ParseStatus() const {
  return absl::InvalidArgumentError(line_ == 0 ? message_
                                               : absl::StrCat("line ", line_, ": ", message_));
}

absl::Status Error::RenderStatus() const {
  const std::string where = line_ == 0 ? "" : absl::StrCat(" at line ", line_);
  switch (kind_) {
    case ErrorKind::kRaised:
      return absl::InvalidArgumentError(message_);
    case ErrorKind::kFailed:
      return absl::InvalidArgumentError(
          absl::StrCat("the chat template failed", where, ": ", message_));
    case ErrorKind::kTooMuch:
      break;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the chat template was stopped", where, ": ", message_));
}

void Fail(std::string message) { throw Error(ErrorKind::kFailed, std::move(message)); }

}  // namespace banyan::text::jinja
