#include "server/model_report.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "model/kv_pool.h"
#include "server/loading.h"
#include "server/options.h"

namespace banyan::server {
namespace {

// Pages as a server has them by default.
kernels::KvShape ShapeIn(const model::Facts& facts, kernels::KvFormat format) {
  return {.layers = facts.layers,
          .kv_heads = facts.kv_heads,
          .head_dim = facts.head_dim,
          .page_size = ServeOptions().page_size,
          .format = format,
          .open_pages = ServeOptions().max_running};
}

std::vector<TensorTypeCount> CountTypes(const model::File& file) {
  absl::flat_hash_map<std::uint32_t, TensorTypeCount> counts;
  for (const model::StoredTensor& tensor : file.tensors()) {
    TensorTypeCount& count = counts[tensor.type];
    count.type = model::TensorTypeName(tensor.type);
    ++count.tensors;
    count.bytes += static_cast<std::int64_t>(tensor.data.size());
  }
  std::vector<TensorTypeCount> types;
  for (const auto& [number, count] : counts) types.push_back(count);
  std::sort(types.begin(), types.end(), [](const TensorTypeCount& a, const TensorTypeCount& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.type < b.type;
  });
  return types;
}

std::vector<NamedToken> Named(const text::Codec& codec, std::span<const TokenId> tokens) {
  std::vector<NamedToken> named;
  for (const TokenId id : tokens) named.push_back({id, std::string(codec.TokenPiece(id))});
  return named;
}

TokenizerFacts DescribeTokenizer(const text::Codec& codec) {
  TokenizerFacts facts;
  facts.kind = codec.tokenizer_name();
  facts.tokens = codec.vocabulary_size();
  // What is left of an empty text are the tokens around it.
  const auto added =
      codec.Encode("", text::ControlTokens::kPlainText, text::AddedTokens::kAsModelAsks);
  if (added.ok()) facts.added = Named(codec, *added);
  facts.ends = Named(codec, codec.end_tokens());
  return facts;
}

TemplateFacts DescribeTemplate(const text::Codec& codec, const Metadata& metadata) {
  TemplateFacts facts;
  facts.source = codec.template_name();
  const std::string_view own = metadata.String("tokenizer.chat_template").value_or("");
  facts.bytes = own.size();
  facts.names_tools = own.find("tools") != std::string_view::npos;
  if (codec.reasoning() != nullptr) facts.reasoning = *codec.reasoning();
  return facts;
}

}  // namespace

absl::StatusOr<ModelReport> DescribeModel(const std::string& path) {
  const auto file = model::File::Open(path);
  if (!file.ok()) return file.status();
  model::Inspection inspection = model::Inspect(**file);
  ModelReport report;
  report.path = path;
  report.file_bytes = (*file)->bytes();
  report.parts = (*file)->parts();
  report.facts = std::move(inspection.facts);
  report.problems = std::move(inspection.problems);
  report.types = CountTypes(**file);
  const Metadata& metadata = (*file)->metadata();
  const auto codec = text::Codec::FromMetadata(metadata);
  if (!codec.ok()) {
    report.problems.emplace_back(codec.status().message());
    return report;
  }
  report.tokenizer = DescribeTokenizer(**codec);
  report.chat_template = DescribeTemplate(**codec, metadata);
  const absl::Status match = CheckVocabulary(**codec, report.facts);
  if (!match.ok() && report.facts.vocabulary_size > 0)
    report.problems.emplace_back(match.message());
  return report;
}

std::int64_t KvBytesPerToken(const model::Facts& facts, kernels::KvFormat format) {
  const kernels::KvShape shape = ShapeIn(facts, format);
  return model::CheckFormat(shape).ok() ? kernels::BytesPerToken(shape) : 0;
}

std::int64_t TokensIn(std::int64_t bytes, std::int64_t bytes_per_token) {
  const std::int64_t page_size = ServeOptions().page_size;
  if (bytes_per_token <= 0) return 0;
  return std::max<std::int64_t>(bytes, 0) / page_size / bytes_per_token * page_size;
}

std::int64_t TokensIn(std::int64_t bytes, const model::Facts& facts, kernels::KvFormat format) {
  return TokensIn(bytes - kernels::OpenBytes(ShapeIn(facts, format)),
                  KvBytesPerToken(facts, format));
}

}  // namespace banyan::server
