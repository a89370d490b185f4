// What a decoder is made of: the sizes, and the choices in which one family differs from another.
//
// A family reads a file's keys into this; decoder.h computes whatever it describes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/tensor.h"

namespace banyan::model {

enum class Biases {
  kNone,
  kQueryKeyValue,  // each layer has these three
  kWhereGiven,     // on any product of a layer for which the file has one
};

// How one layer looks back.
struct LayerAttention {
  kernels::Rope rope;       // its factors are the shape's: see RopeOf
  std::int64_t window = 0;  // the latest positions that it sees, its own among them; 0: all
};

struct DecoderShape {
  std::int32_t layers = 0;
  std::int32_t embedding = 0;     // width of the residual
  std::int32_t feed_forward = 0;  // width between the gate and the way down
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;  // divides heads
  std::int32_t head_dim = 0;  // a multiple of 8
  std::int32_t vocabulary = 0;
  std::int64_t context = 0;  // tokens
  float norm_epsilon = 0;

  bool tied_head = false;   // the embedding matrix is the head as well
  bool head_norms = false;  // queries and keys are normed within each head, before they are rotated
  bool post_norms = false;  // what a block adds to the residual is normed first
  Biases biases = Biases::kNone;
  kernels::GateFunction gate = kernels::GateFunction::kSilu;
  float embedding_scale = 1;
  float attention_scale = 0;  // of the products of queries and keys

  std::vector<LayerAttention> attention;  // one per layer
  std::vector<float> rope_factors;        // of every layer: rope.dims / 2 divisors, or none

  kernels::Rope RopeOf(std::int32_t layer) const {
    kernels::Rope rope = attention[static_cast<std::size_t>(layer)].rope;
    rope.factors = rope_factors;
    return rope;
  }
  bool every_layer_sees_all() const {
    return std::ranges::all_of(attention, [](const auto& layer) { return layer.window == 0; });
  }
};

}  // namespace banyan::model
