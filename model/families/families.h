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

// The table of families: the name in general.architecture, and the function that reads its keys.
#define BANYAN_FAMILIES(FAMILY) \
  FAMILY("gemma3", ReadGemma3)  \
  FAMILY("llama", ReadLlama)    \
  FAMILY("qwen2", ReadQwen2)    \
  FAMILY("qwen3", ReadQwen3)

#define BANYAN_DECLARE(name, read) DecoderShape read(Settings& settings, TensorSet& tensors);
BANYAN_FAMILIES(BANYAN_DECLARE)
#undef BANYAN_DECLARE

}  // namespace banyan::model
