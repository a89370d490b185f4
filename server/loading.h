// From options to a model that can answer.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "server/options.h"
#include "text/codec.h"

namespace banyan::server {

struct LoadedModel {
  std::unique_ptr<const text::Codec> codec;
  std::unique_ptr<model::Model> model;
};

// Errors are those of model::File::Open, text::Codec::FromMetadata and model::Model::Load, or
// kInvalidArgument when the file's tokenizer and weights do not belong together.
absl::StatusOr<LoadedModel> LoadModel(const ServeOptions& options);

}  // namespace banyan::server
