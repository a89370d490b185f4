// The keys that decoders of all families have in common, for the families to read theirs with.
//
// Errors are kept by `settings`; what is returned then is harmless and of no use.
#pragma once

#include "kernels/tensor.h"
#include "model/decoder_shape.h"
#include "model/settings.h"
#include "model/weights.h"

namespace banyan::model {

// A plain decoder: no biases, no norms but those before each block, SwiGLU, attention to everything
// before. Refuses the keys that would make it another one; those that some family honours
// (attention.sliding_window) are left to the families.
DecoderShape ReadDecoderShape(Settings& settings, const TensorSet& tensors);

// The rotation that the keys rope.* ask for. Positions are scaled down by rope.scaling.factor where
// that is linear (Chen et al., "Extending Context Window", 2023); other methods are refused.
kernels::Rope ReadRope(Settings& settings, const DecoderShape& shape, kernels::RopePairs pairs);

// The same for every layer.
void SetAttention(DecoderShape& shape, const LayerAttention& attention);

// For families of which no file says which layers would see less.
void RefuseWindow(Settings& settings, const DecoderShape& shape);

}  // namespace banyan::model
