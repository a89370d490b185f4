// How byte-level tokenizers cut text into runs. A model file only names its pre-tokenizer; what
// each name stands for is a table in pre_tokenizer.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/run_source.h"

namespace banyan::text {

struct PreTokenizerRow;  // in pre_tokenizer.cc

class PreTokenizer final : public RunSource {
 public:
  // By the name in `tokenizer.ggml.pre`. kUnimplemented lists the names that the table has.
  static absl::StatusOr<std::unique_ptr<const PreTokenizer>> ForName(std::string_view name);

  void ForEachRun(std::string_view text,
                  absl::FunctionRef<void(std::string_view)> emit) const override;

  // A run that is spelled like a token is that token, whether or not merges lead to it.
  bool ignores_merges() const;
  // How many bytes of a text may come to one byte of its runs, at most.
  std::size_t most_bytes_per_byte() const;
  // Whether the begin-of-text token is added where the file does not say.
  bool adds_begin() const;

 private:
  explicit PreTokenizer(const PreTokenizerRow& row) : row_(row) {}

  const PreTokenizerRow& row_;  // a constant
};

}  // namespace banyan::text
