// The families of decoders, each in a file of its own: what its models are made of, read from the
// keys of one of them (and from the few tensors that are settings).
//
// Errors are kept by `settings`: kInvalidArgument names a key that is missing or out of range,
// kUnimplemented one that asks for what is not built.
#pragma once

#include "model/decoder_settings.h"
#include "model/decoder_shape.h"
#include "model/settings.h"
#include "model/weights.h"

namespace banyan::model {

DecoderShape ReadGemma3(Settings& settings, TensorSet& tensors);
DecoderShape ReadLlama(Settings& settings, TensorSet& tensors);
DecoderShape ReadQwen2(Settings& settings, TensorSet& tensors);
DecoderShape ReadQwen3(Settings& settings, TensorSet& tensors);

}  // namespace banyan::model
