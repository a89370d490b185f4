// Llama 1 to 3 and what is built alike (Mistral, SmolLM2, Yi, ...): RMS norms, grouped-query
// attention, SwiGLU. Touvron et al., "LLaMA", 2023; Jiang et al., "Mistral 7B", 2023 (the window).
//
// Converters permute the rows of its query and key matrices so that rotation pairs neighbours.
#include <algorithm>
#include <cmath>

#include "model/families/families.h"

namespace banyan::model {
namespace {

// Llama 3.1 slows low frequencies down (Dubey et al., "The Llama 3 Herd of Models", 2024). Files do
// not say how: this tensor has what each frequency is divided by.
constexpr std::string_view kRopeFactors = "rope_freqs.weight";

std::vector<float> ReadRopeFactors(Settings& settings, TensorSet& tensors, std::int32_t dims) {
  if (!tensors.Has(kRopeFactors) || !settings.status().ok()) return {};
  const absl::StatusOr<std::vector<float>> factors = tensors.TakeValues(kRopeFactors, dims / 2);
  if (!factors.ok()) {
    settings.Fail(factors.status());
    return {};
  }
  settings.Require(std::all_of(factors->begin(), factors->end(),
                               [](float f) { return std::isfinite(f) && f > 0; }),
                   "tensor 'rope_freqs.weight' has values that are not positive");
  return *factors;
}

}  // namespace

DecoderShape ReadLlama(Settings& settings, TensorSet& tensors) {
  DecoderShape shape = ReadDecoderShape(settings, tensors);
  shape.biases = Biases::kWhereGiven;
  const kernels::Rope rope = ReadRope(settings, shape, kernels::RopePairs::kNeighbours);
  shape.rope_factors = ReadRopeFactors(settings, tensors, rope.dims);
  settings.RefusePresent("attention.sliding_window_pattern", "windows in some layers only");
  SetAttention(shape, {.rope = rope, .window = settings.Window()});
  return shape;
}

}  // namespace banyan::model
