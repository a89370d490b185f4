#include "model/llama_shape.h"

#include <algorithm>

#include "model/settings.h"

namespace banyan::model {
namespace {

// Bounds that keep every product of two of them far from overflow; real models are well within.
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxHeads = 1024;
constexpr std::int64_t kMaxHeadDim = 512;
constexpr std::int64_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxContext = 1 << 30;

// Rows of the embedding matrix: the one place where a file must state its vocabulary.
std::int64_t EmbeddingRows(const File& file) {
  const auto tensors = file.tensors();
  const auto it = std::find_if(tensors.begin(), tensors.end(), [](const StoredTensor& tensor) {
    return tensor.name == "token_embd.weight";
  });
  return it == tensors.end() ? 0 : it->dims[1];
}

void RefuseWhatIsNotBuilt(Settings& settings) {
  settings.RefuseInteger("expert_count", 0);
  settings.RefuseString("rope.scaling.type", "none");
  settings.RefuseFloat("rope.scale_linear", 1);
  // Older files scale without saying how.
  if (!settings.Has("rope.scaling.type")) settings.RefuseFloat("rope.scaling.factor", 1);
  settings.RefuseInteger("attention.sliding_window", 0);
  settings.RefuseFloat("attention.clamp_kqv", 0);
  settings.RefuseFloat("logit_scale", 1);
}

}  // namespace

absl::StatusOr<LlamaShape> LlamaShape::Read(const File& file) {
  Settings settings(file.metadata(), "llama");
  const auto integer = [&](std::string_view name, std::int64_t low, std::int64_t high,
                           std::optional<std::int64_t> otherwise = std::nullopt) {
    return static_cast<std::int32_t>(settings.Integer(name, low, high, otherwise));
  };
  RefuseWhatIsNotBuilt(settings);
  LlamaShape shape;
  shape.layers = integer("block_count", 1, kMaxLayers);
  shape.embedding = integer("embedding_length", 1, kMaxWidth);
  shape.feed_forward = integer("feed_forward_length", 1, kMaxWidth);
  shape.heads = integer("attention.head_count", 1, kMaxHeads);
  shape.kv_heads = integer("attention.head_count_kv", 1, kMaxHeads, shape.heads);
  settings.Require(shape.heads % shape.kv_heads == 0,
                   "attention.head_count is not a multiple of attention.head_count_kv");
  settings.Require(settings.Has("attention.key_length") || shape.embedding % shape.heads == 0,
                   "embedding_length is not a multiple of attention.head_count");
  shape.head_dim = integer("attention.key_length", 1, kMaxHeadDim, shape.embedding / shape.heads);
  settings.Require(shape.head_dim % 8 == 0 && shape.head_dim >= 8 && shape.head_dim <= kMaxHeadDim,
                   "the size of a head is not a multiple of 8 from 8 to 512");
  settings.Require(
      integer("attention.value_length", 1, kMaxHeadDim, shape.head_dim) == shape.head_dim,
      "attention.value_length differs from the size of a key");
  shape.rope.dims = integer("rope.dimension_count", 2, kMaxHeadDim, shape.head_dim);
  settings.Require(shape.rope.dims % 2 == 0 && shape.rope.dims <= shape.head_dim,
                   "rope.dimension_count is odd or larger than a head");
  shape.rope.base = settings.Float("rope.freq_base", 0, 1e12, 10000.0F);
  shape.norm_epsilon = settings.Float("attention.layer_norm_rms_epsilon", 0, 1);
  shape.context = settings.Integer("context_length", 1, kMaxContext);
  const std::int64_t vocabulary = EmbeddingRows(file);
  settings.Require(0 < vocabulary && vocabulary <= kMaxVocabulary,
                   "tensor 'token_embd.weight' is missing or has too many rows");
  settings.Require(settings.Integer("vocab_size", 1, kMaxVocabulary, vocabulary) == vocabulary,
                   "vocab_size differs from the rows of tensor 'token_embd.weight'");
  shape.vocabulary = static_cast<std::int32_t>(vocabulary);
  if (!settings.status().ok()) return settings.status();
  return shape;
}

}  // namespace banyan::model
