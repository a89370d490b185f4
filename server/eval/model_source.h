// A model file that is loaded again and again, in one format of the KV pages after another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/kv_shape.h"
#include "model/model.h"
#include "text/codec.h"

namespace banyan::server {

class ModelSource {
 public:
  static constexpr std::int32_t kPageSize = 16;  // as the server's default
  static constexpr std::int32_t kBatchTokens = 256;

  // Errors are those of model::File::Open and text::Codec::FromMetadata, or why the file does not
  // run; they begin with the path.
  static absl::StatusOr<ModelSource> Open(const std::string& path);

  // With so many pages. Errors as model::Model::Load, with the path.
  absl::StatusOr<std::unique_ptr<model::Model>> Load(kernels::KvFormat format, std::int64_t pages,
                                                     std::int32_t threads) const;

  const text::Codec& codec() const { return *codec_; }
  const model::Facts& facts() const { return facts_; }  // as the header tells them

 private:
  std::string path_;
  std::unique_ptr<const text::Codec> codec_;
  model::Facts facts_;
};

}  // namespace banyan::server
