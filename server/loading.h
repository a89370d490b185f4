// From options to a model that can answer.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model.h"
#include "server/options.h"
#include "text/codec.h"

namespace banyan::server {

struct LoadedModel {
  std::unique_ptr<const text::Codec> codec;
  std::unique_ptr<model::Model> model;
};

// The most of a --chat-template file; real ones have under 32 KiB.
inline constexpr std::size_t kMaxTemplateFileBytes = 1 << 18;

// Errors are those of model::File::Open, text::Codec::FromMetadata and model::Model::Load, or
// kInvalidArgument when the file's tokenizer and weights do not belong together or the template's
// file cannot be read. One line that begins with the file's path or the option's name.
absl::StatusOr<LoadedModel> LoadModel(const ServeOptions& options);

// kInvalidArgument when the tokenizer has more tokens than the weights have rows.
absl::Status CheckVocabulary(const text::Codec& codec, const model::Facts& facts);

}  // namespace banyan::server
