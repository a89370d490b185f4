// The weights of a decoder by the names that GGUF files give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/decoder_shape.h"
#include "model/weights.h"

namespace banyan::model {

template <class B>
struct DecoderWeights {
  using Matrix = typename B::Matrix;
  using Vector = typename B::Vector;

  struct Product {
    Matrix matrix;
    std::optional<Vector> bias;
  };
  struct Layer {
    Vector attention_norm, feed_forward_norm;
    Product query, key, value;
    std::optional<Vector> query_norm, key_norm;
    Product output;  // back into the residual
    Product gate, up, down;
    std::optional<Vector> post_attention_norm, post_feed_forward_norm;
  };

  Matrix embedding;
  std::vector<Layer> layers;
  Vector final_norm;
  std::optional<Matrix> head;  // absent when it is the embedding

  // Takes all of them from `packer`; whether that went well is in packer.status().
  DecoderWeights(const DecoderShape& shape, WeightPacker<B>& packer) {
    embedding = packer.Matrix("token_embd.weight", shape.vocabulary, shape.embedding);
    for (std::int32_t i = 0; i < shape.layers && packer.ok(); ++i) {
      layers.push_back(PackLayer(shape, packer, absl::StrCat("blk.", i, ".")));
    }
    final_norm = packer.Vector("output_norm.weight", shape.embedding);
    if (!shape.tied_head) {
      head = packer.Matrix("output.weight", shape.vocabulary, shape.embedding);
    }
  }

 private:
  static Layer PackLayer(const DecoderShape& shape, WeightPacker<B>& packer,
                         const std::string& prefix) {
    const std::int64_t width = shape.embedding;
    const std::int64_t attention = std::int64_t{shape.heads} * shape.head_dim;
    const std::int64_t kv = std::int64_t{shape.kv_heads} * shape.head_dim;
    const std::int64_t hidden = shape.feed_forward;
    const bool inputs_have = shape.biases == Biases::kQueryKeyValue;
    const auto product = [&](const char* name, std::int64_t rows, std::int64_t cols, bool has) {
      return PackProduct(shape, packer, prefix + name, rows, cols, has);
    };
    const auto norm = [&](bool has, const char* name, std::int64_t size) -> std::optional<Vector> {
      if (!has) return std::nullopt;
      return packer.Vector(prefix + name, size);
    };
    Layer layer;
    layer.attention_norm = packer.Vector(prefix + "attn_norm.weight", width);
    layer.query = product("attn_q", attention, width, inputs_have);
    layer.key = product("attn_k", kv, width, inputs_have);
    layer.value = product("attn_v", kv, width, inputs_have);
    layer.query_norm = norm(shape.head_norms, "attn_q_norm.weight", shape.head_dim);
    layer.key_norm = norm(shape.head_norms, "attn_k_norm.weight", shape.head_dim);
    layer.output = product("attn_output", width, attention, false);
    layer.post_attention_norm = norm(shape.post_norms, "post_attention_norm.weight", width);
    layer.feed_forward_norm = packer.Vector(prefix + "ffn_norm.weight", width);
    layer.gate = product("ffn_gate", hidden, width, false);
    layer.up = product("ffn_up", hidden, width, false);
    layer.down = product("ffn_down", width, hidden, false);
    layer.post_feed_forward_norm = norm(shape.post_norms, "post_ffw_norm.weight", width);
    return layer;
  }

  static Product PackProduct(const DecoderShape& shape, WeightPacker<B>& packer,
                             const std::string& name, std::int64_t rows, std::int64_t cols,
                             bool has_bias) {
    Product product{.matrix = packer.Matrix(name + ".weight", rows, cols), .bias = {}};
    const std::string bias = name + ".bias";
    if (has_bias || (shape.biases == Biases::kWhereGiven && packer.Has(bias))) {
      product.bias = packer.Vector(bias, rows);
    }
    return product;
  }
};

}  // namespace banyan::model
