// Qwen2 and Qwen2.5: llama with biases on queries, keys and values, and rotation of halves.
// Yang et al., "Qwen2 Technical Report", 2024.
#include "model/families/families.h"

namespace banyan::model {

DecoderShape ReadQwen2(Settings& settings, TensorSet& tensors) {
  DecoderShape shape = ReadDecoderShape(settings, tensors);
  shape.biases = Biases::kQueryKeyValue;
  SetAttention(shape, {.rope = ReadRope(settings, shape, kernels::RopePairs::kHalves)});
  RefuseWindow(settings, shape);
  return shape;
}

}  // namespace banyan::model
