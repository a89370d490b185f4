// How evaluation ends early. Thrown within text/jinja only: Program turns it into a status.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"

namespace banyan::text::jinja {

enum class ErrorKind : unsigned char {
  kRaised,   // by raise_exception: the template's own words
  kFailed,   // what the template does is not possible
  kTooMuch,  // a bound of limits.h
};

class Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  // Where it happened; the innermost line stays.
  void AtLine(int line) {
    if (line_ == 0) line_ = line;
  }
  // While rendering, and while parsing.
  absl::Status RenderStatus() const;
  absl::Status ParseStatus() const;

 private:
  ErrorKind kind_;
  std::string message_;
  int line_ = 0;
};

[[noreturn]] void Fail(std::string message);

}  // namespace banyan::text::jinja
