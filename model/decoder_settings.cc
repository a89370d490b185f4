#include "model/decoder_settings.h"

#include <cmath>
#include <optional>
#include <string_view>

namespace banyan::model {
namespace {

// Bounds that keep every product of two of them far from overflow; real models are well within.
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxHeads = 1024;
constexpr std::int64_t kMaxHeadDim = 512;
constexpr std::int64_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxContext = 1 << 30;

constexpr std::string_view kEmbedding = "token_embd.weight";

// Keys that some converter writes for some model, and that would change the answers.
void RefuseWhatIsNotBuilt(Settings& settings) {
  settings.RefuseInteger("expert_count", 0,
                         "a mixture of experts, which needs a router and the tensors ffn_*_exps");
  settings.RefuseInteger("pooling_type", 0, "pooled embeddings instead of text");
  settings.RefuseInteger("nextn_predict_layers", 0, "layers that predict several tokens");
  settings.RefuseInteger("attention.shared_kv_layers", 0, "layers that share keys and values");
  settings.RefuseFloat("attention.clamp_kqv", 0, "clamped queries, keys and values");
  settings.RefuseFloat("attention.max_alibi_bias", 0, "ALiBi positions");
  settings.RefuseFloat("attention.scale", 0, "an attention scale of its own");
  settings.RefuseFloat("attention.temperature_scale", 0, "a temperature of attention");
  settings.RefuseFloat("attn_logit_softcapping", 0, "capped attention scores");
  settings.RefuseFloat("final_logit_softcapping", 0, "capped logits");
  settings.RefuseFloat("logit_scale", 1, "scaled logits");
  settings.RefuseFloat("residual_scale", 1, "a scaled residual");
  settings.RefuseFloat("embedding_scale", 1, "an embedding scale of its own");
  settings.RefuseBool("attention.causal", true, "attention to later tokens");
  settings.RefuseBool("use_parallel_residual", false, "blocks side by side");
  settings.RefusePresent("rope.dimension_sections", "positions of several dimensions");
}

std::int32_t Integer(Settings& settings, std::string_view name, std::int64_t high,
                     std::optional<std::int64_t> otherwise = std::nullopt) {
  return static_cast<std::int32_t>(settings.Integer(name, 1, high, otherwise));
}

void ReadHeads(Settings& settings, DecoderShape& shape) {
  shape.heads = Integer(settings, "attention.head_count", kMaxHeads);
  shape.kv_heads = Integer(settings, "attention.head_count_kv", kMaxHeads, shape.heads);
  settings.Require(shape.heads % shape.kv_heads == 0,
                   "attention.head_count is not a multiple of attention.head_count_kv");
  settings.Require(settings.Has("attention.key_length") || shape.embedding % shape.heads == 0,
                   "embedding_length is not a multiple of attention.head_count");
  shape.head_dim =
      Integer(settings, "attention.key_length", kMaxHeadDim, shape.embedding / shape.heads);
  settings.Require(shape.head_dim % 8 == 0 && shape.head_dim >= 8 && shape.head_dim <= kMaxHeadDim,
                   "the size of a head is not a multiple of 8 from 8 to 512");
  for (const std::string_view name :
       {"attention.value_length", "attention.key_length_swa", "attention.value_length_swa"}) {
    settings.Require(Integer(settings, name, kMaxHeadDim, shape.head_dim) == shape.head_dim,
                     "heads differ in size: attention.key_length, value_length, key_length_swa");
  }
  shape.attention_scale = 1 / std::sqrt(static_cast<float>(shape.head_dim));
}

// What a position is divided by, so that more of them fit into what the model has learnt.
float ReadPositionFactor(Settings& settings) {
  constexpr double kMinFactor = 1e-6;  // far from 0, because the inverse is what is used
  constexpr double kMaxFactor = 1e6;
  settings.RefuseFloat("rope.scaling.alpha", 0, "a base that depends on the context");
  settings.RefuseFloat("rope.scaling.attn_factor", 1, "scores scaled with the rotation");
  const std::optional<std::string_view> type = settings.String("rope.scaling.type", "linear");
  if (type == "none") return 1;
  if (type != "linear") {
    settings.RefusePresent("rope.scaling.type", "a rope scaling other than none and linear");
    return 1;
  }
  // The older name counts where the newer one is absent.
  const float older = settings.Float("rope.scale_linear", kMinFactor, kMaxFactor, 1.0F);
  return settings.Float("rope.scaling.factor", kMinFactor, kMaxFactor, older);
}

}  // namespace

DecoderShape ReadDecoderShape(Settings& settings, const TensorSet& tensors) {
  RefuseWhatIsNotBuilt(settings);
  DecoderShape shape;
  shape.layers = Integer(settings, "block_count", kMaxLayers);
  shape.embedding = Integer(settings, "embedding_length", kMaxWidth);
  shape.feed_forward = Integer(settings, "feed_forward_length", kMaxWidth);
  ReadHeads(settings, shape);
  shape.norm_epsilon = settings.Float("attention.layer_norm_rms_epsilon", 0, 1);
  shape.context = settings.Integer("context_length", 1, kMaxContext);
  // The rows of this matrix are the one place where a file must state its vocabulary.
  const std::int64_t vocabulary = tensors.Rows(kEmbedding);
  settings.Require(0 < vocabulary && vocabulary <= kMaxVocabulary,
                   "tensor 'token_embd.weight' is missing or has too many rows");
  settings.Require(settings.Integer("vocab_size", 1, kMaxVocabulary, vocabulary) == vocabulary,
                   "vocab_size differs from the rows of tensor 'token_embd.weight'");
  shape.vocabulary = static_cast<std::int32_t>(vocabulary);
  shape.tied_head = !tensors.Has("output.weight");
  return shape;
}

kernels::Rope ReadRope(Settings& settings, const DecoderShape& shape, kernels::RopePairs pairs) {
  kernels::Rope rope{.pairs = pairs};
  rope.dims = Integer(settings, "rope.dimension_count", kMaxHeadDim, shape.head_dim);
  settings.Require(rope.dims % 2 == 0 && rope.dims <= shape.head_dim,
                   "rope.dimension_count is odd or larger than a head");
  settings.Require(
      Integer(settings, "rope.dimension_count_swa", kMaxHeadDim, rope.dims) == rope.dims,
      "rope.dimension_count_swa differs from rope.dimension_count");
  rope.base = settings.Float("rope.freq_base", 0, 1e12, 10000.0F);
  rope.scale = 1 / ReadPositionFactor(settings);
  return rope;
}

void SetAttention(DecoderShape& shape, const LayerAttention& attention) {
  shape.attention.assign(static_cast<std::size_t>(shape.layers), attention);
}

void RefuseWindow(Settings& settings, const DecoderShape& shape) {
  // A window that holds the whole context hides nothing.
  const std::int64_t window = settings.Integer("attention.sliding_window", 0, INT64_MAX, 0);
  if (window < shape.context) settings.RefuseInteger("attention.sliding_window", 0, "a window");
}

}  // namespace banyan::model
