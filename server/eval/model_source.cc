#include "server/eval/model_source.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "server/loading.h"

namespace banyan::server {
namespace {

absl::Status About(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<ModelSource> ModelSource::Open(const std::string& path) {
  auto file = model::File::Open(path);
  if (!file.ok()) return About(path, file.status());
  const model::Inspection inspection = model::Inspect(**file);
  if (!inspection.problems.empty()) {
    return About(path, absl::UnimplementedError(inspection.problems.front()));
  }
  auto codec = text::Codec::FromMetadata((*file)->metadata());
  if (!codec.ok()) return About(path, codec.status());
  if (absl::Status match = CheckVocabulary(**codec, inspection.facts); !match.ok()) {
    return About(path, match);
  }
  ModelSource source;
  source.path_ = path;
  source.codec_ = *std::move(codec);
  source.facts_ = inspection.facts;
  return source;
}

absl::StatusOr<std::unique_ptr<model::Model>> ModelSource::Load(kernels::KvFormat format,
                                                                std::int64_t pages,
                                                                std::int32_t threads) const {
  auto file = model::File::Open(path_);
  if (!file.ok()) return About(path_, file.status());
  const kernels::KvShape shape{.layers = facts_.layers,
                               .kv_heads = facts_.kv_heads,
                               .head_dim = facts_.head_dim,
                               .page_size = kPageSize,
                               .format = format,
                               .open_pages = 1};
  model::Options options;
  options.threads = threads;
  options.page_size = kPageSize;
  options.kv_memory = kernels::BytesPerToken(shape) * kPageSize * pages + kernels::OpenBytes(shape);
  options.max_sequences = 1;
  options.kv_format = format;
  options.max_batch_tokens = kBatchTokens;
  auto model = model::Model::Load(*std::move(file), options);
  if (!model.ok()) return About(path_, model.status());
  CHECK((*model)->pages() >= pages);
  return model;
}

}  // namespace banyan::server
