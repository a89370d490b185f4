// Cuts a stretch of plain text into the runs within which tokens merge. What a kind of tokenizer
// does to the text before that (normal forms, marks for spaces) is done here too.
//
// Thread safety: immutable.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"

namespace banyan::text {

class RunSource {
 public:
  virtual ~RunSource() = default;
  // Calls `emit` with each run, in order; a run is a view that lives as long as the call of `emit`.
  // `text` must be UTF-8 and not empty.
  virtual void ForEachRun(std::string_view text,
                          absl::FunctionRef<void(std::string_view)> emit) const = 0;
};

}  // namespace banyan::text
