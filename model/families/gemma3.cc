// Gemma 3, text. Gemma Team, "Gemma 3 Technical Report", 2025.
//
// Of six layers in a row five see a window, and the sixth sees all; the two kinds rotate with bases
// of their own. Each block has a norm behind it too, queries and keys are normed within each head,
// and embeddings are scaled. Converters have added the 1 of "1 + weight" to the norms.
#include <algorithm>
#include <cmath>

#include "model/families/families.h"

namespace banyan::model {
namespace {

constexpr std::int64_t kPattern = 6;  // one layer in so many sees all
constexpr std::int32_t kLayersOf27B = 62;

// The 27B model alone divides by the root of width / heads instead of the size of a head, and its
// files say so nowhere but in their depth.
float AttentionScale(const DecoderShape& shape) {
  if (shape.layers != kLayersOf27B) return shape.attention_scale;
  return 1 / std::sqrt(static_cast<float>(shape.embedding) / static_cast<float>(shape.heads));
}

}  // namespace

DecoderShape ReadGemma3(Settings& settings, TensorSet& tensors) {
  DecoderShape shape = ReadDecoderShape(settings, tensors);
  shape.head_norms = true;
  shape.post_norms = true;
  shape.gate = kernels::GateFunction::kGeluTanh;
  shape.embedding_scale = std::sqrt(static_cast<float>(shape.embedding));
  shape.attention_scale = AttentionScale(shape);

  settings.Require(settings.Has("rope.freq_base"), "rope.freq_base is missing");
  LayerAttention global = {.rope = ReadRope(settings, shape, kernels::RopePairs::kHalves)};
  LayerAttention local = {.rope = global.rope, .window = settings.Window()};
  local.rope.base = settings.Float("rope.freq_base_swa", 0, 1e12, 10000.0F);
  local.rope.scale = 1;  // only what sees far is stretched
  SetAttention(shape, global);
  if (local.window == 0) return shape;
  const std::int64_t pattern =
      settings.Integer("attention.sliding_window_pattern", 1, 1024, kPattern);
  for (std::size_t i = 0; i < shape.attention.size(); ++i) {
    if ((static_cast<std::int64_t>(i) + 1) % pattern != 0) shape.attention[i] = local;
  }
  return shape;
}

}  // namespace banyan::model
