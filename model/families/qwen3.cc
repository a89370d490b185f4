// Qwen3, the dense models: queries and keys are normed within each head, and nothing has a bias.
// Yang et al., "Qwen3 Technical Report", 2025.
#include "model/families/families.h"

namespace banyan::model {

DecoderShape ReadQwen3(Settings& settings, TensorSet& tensors) {
  DecoderShape shape = ReadDecoderShape(settings, tensors);
  shape.head_norms = true;
  SetAttention(shape, {.rope = ReadRope(settings, shape, kernels::RopePairs::kHalves)});
  RefuseWindow(settings, shape);
  return shape;
}

}  // namespace banyan::model
