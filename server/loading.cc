#include "server/loading.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace banyan::server {
namespace {

model::Options ModelOptions(const ServeOptions& options) {
  model::Options out;
  out.threads = options.threads;
  out.page_size = options.page_size;
  out.kv_memory = options.kv_memory;
  out.max_batch_tokens = options.max_batch_tokens;
  return out;
}

absl::StatusOr<LoadedModel> LoadNull(const ServeOptions& options) {
  LoadedModel loaded;
  loaded.codec = text::Codec::ForBytes();
  auto model = model::Model::Null(ModelOptions(options), loaded.codec->end_tokens().front(),
                                  loaded.codec->vocabulary_size());
  if (!model.ok()) return model.status();
  loaded.model = *std::move(model);
  return loaded;
}

absl::StatusOr<LoadedModel> LoadFile(const ServeOptions& options) {
  auto file = model::File::Open(options.model);
  if (!file.ok()) return file.status();
  LoadedModel loaded;
  auto codec = text::Codec::FromMetadata((*file)->metadata());
  if (!codec.ok()) return codec.status();
  loaded.codec = *std::move(codec);
  auto model = model::Model::Load(*std::move(file), ModelOptions(options));
  if (!model.ok()) return model.status();
  loaded.model = *std::move(model);
  // The model may have more rows than the tokenizer has tokens (padding), never fewer.
  if (loaded.model->facts().vocabulary_size < loaded.codec->vocabulary_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tokenizer has ", loaded.codec->vocabulary_size(),
                     " tokens, but the weights only ", loaded.model->facts().vocabulary_size));
  }
  return loaded;
}

}  // namespace

absl::StatusOr<LoadedModel> LoadModel(const ServeOptions& options) {
  auto loaded = options.is_null_model() ? LoadNull(options) : LoadFile(options);
  if (!loaded.ok()) return loaded;
  const auto page_bytes = static_cast<std::int64_t>(loaded->model->page_bytes());
  if (options.kv_memory < page_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("--kv-memory is ", options.kv_memory,
                                                   " bytes, but one page takes ", page_bytes));
  }
  return loaded;
}

}  // namespace banyan::server
