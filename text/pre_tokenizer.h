// Cuts text into the runs within which byte pairs merge. A model file only names its pattern; the
// patterns themselves are a table in pre_tokenizer.cc.
//
// Thread safety: immutable; one compiled pattern is shared by all threads, match data is per call.
#pragma once

#include <memory>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// PCRE2's compiled pattern, so that pcre2.h stays out of headers.
struct pcre2_real_code_8;

namespace banyan::text {

class PreTokenizer {
 public:
  // By the name in `tokenizer.ggml.pre`. kUnimplemented when the table has no such row.
  static absl::StatusOr<PreTokenizer> ForName(std::string_view name);

  // Calls `emit` with each run, in order; joined, they are `text`. `text` must be UTF-8.
  absl::Status Split(std::string_view text, absl::FunctionRef<void(std::string_view)> emit) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };

  explicit PreTokenizer(pcre2_real_code_8* code) : code_(code) {}

  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
};

}  // namespace banyan::text
