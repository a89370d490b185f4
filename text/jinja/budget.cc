#include "text/jinja/budget.h"

#include "absl/strings/str_cat.h"
#include "text/jinja/error.h"

namespace banyan::text::jinja {

void Budget::TooManySteps() {
  throw Error(ErrorKind::kTooMuch, absl::StrCat("it takes more than ", kMaxSteps, " steps"));
}

void Budget::TooMuchMemory() {
  throw Error(ErrorKind::kTooMuch, absl::StrCat("it holds more than ", kMaxHeldBytes, " bytes"));
}

}  // namespace banyan::text::jinja
