#include "server/loading.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/small_file.h"

namespace banyan::server {
namespace {

model::Options ModelOptions(const ServeOptions& options) {
  model::Options out;
  out.backend = options.backend;
  out.device = options.device;
  out.deterministic = options.deterministic;
  out.threads = options.threads;
  out.page_size = options.page_size;
  out.kv_memory = options.kv_memory;
  out.kv_format = options.kv_format;
  out.max_sequences = options.max_running;
  out.max_batch_tokens = options.max_batch_tokens;
  out.cpu_variant = options.cpu_variant;
  out.bind_threads = options.bind_threads;
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

absl::Status About(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

absl::StatusOr<LoadedModel> LoadFile(const ServeOptions& options) {
  absl::StatusOr<std::string> chat_template = std::string();
  if (!options.chat_template.empty()) {
    chat_template = ReadSmallFile(options.chat_template, kMaxTemplateFileBytes);
  }
  if (!chat_template.ok()) {
    return About(absl::StrCat("--chat-template ", options.chat_template), chat_template.status());
  }
  auto file = model::File::Open(options.model);
  if (!file.ok()) return About(options.model, file.status());
  LoadedModel loaded;
  auto codec =
      text::Codec::FromMetadata((*file)->metadata(), {.chat_template = *std::move(chat_template)});
  if (!codec.ok()) return About(options.model, codec.status());
  loaded.codec = *std::move(codec);
  auto model = model::Model::Load(*std::move(file), ModelOptions(options));
  if (!model.ok()) return About(options.model, model.status());
  loaded.model = *std::move(model);
  const absl::Status match = CheckVocabulary(*loaded.codec, loaded.model->facts());
  if (!match.ok()) return About(options.model, match);
  return loaded;
}

}  // namespace

// The model may have more rows than the tokenizer has tokens (padding), never fewer.
absl::Status CheckVocabulary(const text::Codec& codec, const model::Facts& facts) {
  if (facts.vocabulary_size >= codec.vocabulary_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the tokenizer has ", codec.vocabulary_size(),
                                                 " tokens, but the weights only ",
                                                 facts.vocabulary_size));
}

absl::StatusOr<LoadedModel> LoadModel(const ServeOptions& options) {
  auto loaded = options.is_null_model() ? LoadNull(options) : LoadFile(options);
  if (!loaded.ok()) return loaded;
  const auto page_bytes = static_cast<std::int64_t>(loaded->model->page_bytes());
  const std::int64_t open_bytes = loaded->model->facts().kv_open_bytes;
  if (options.kv_memory == 0 || options.kv_memory >= page_bytes + open_bytes) return loaded;
  std::string least = absl::StrCat("one page takes ", page_bytes);
  if (open_bytes > 0) {
    absl::StrAppend(&least, " and the open pages of ", options.max_running,
                    " requests (--max-running) take ", open_bytes);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--kv-memory is ", options.kv_memory, " bytes, but ", least));
}

}  // namespace banyan::server
