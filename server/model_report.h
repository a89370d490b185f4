// What `banyan model info` tells: all that a model file's header says, without loading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "kernels/kv_shape.h"
#include "model/model.h"
#include "text/codec.h"

namespace banyan::server {

struct TensorTypeCount {
  std::string_view type;  // "Q4_1"
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
};

struct NamedToken {
  TokenId id = -1;
  std::string piece;  // as the vocabulary spells it
};

struct TokenizerFacts {
  std::string kind;  // "BPE (smollm)"
  std::int32_t tokens = 0;
  std::vector<NamedToken> added;  // around a text, as the file wants it
  std::vector<NamedToken> ends;   // of an answer
};

struct TemplateFacts {
  std::string source;        // "from the file", "default: ChatML"
  std::size_t bytes = 0;     // of the file's own; 0 when it has none
  bool names_tools = false;  // the file's own speaks of tools
  std::optional<text::ReasoningMarks> reasoning;
};

struct ModelReport {
  std::string path;
  std::int64_t file_bytes = 0;
  std::int32_t parts = 1;
  model::Facts facts;
  std::vector<TensorTypeCount> types;  // most bytes first
  std::optional<TokenizerFacts> tokenizer;
  std::optional<TemplateFacts> chat_template;
  std::vector<std::string> problems;  // why it does not run, a line each; none: it runs
};

// Errors are those of model::File::Open.
absl::StatusOr<ModelReport> DescribeModel(const std::string& path);

// What a token of the model takes in pages of a format, if the facts' own `kv_bytes_per_token` is
// known; 0 where the format does not have such heads.
std::int64_t KvBytesPerToken(const model::Facts& facts, kernels::KvFormat format);
// How many tokens a KV pool of `bytes` holds, in whole pages of the default size; 0 when the size
// of a token is not known (0).
std::int64_t TokensIn(std::int64_t bytes, std::int64_t bytes_per_token);
// The same of a format, beside the open pages of as many requests as a server runs by default.
std::int64_t TokensIn(std::int64_t bytes, const model::Facts& facts, kernels::KvFormat format);

}  // namespace banyan::server
