// The llama architecture: a decoder of RMS norms, grouped-query attention with rotary positions,
// and SwiGLU. Touvron et al., "LLaMA", 2023; Ainslie et al., "GQA", 2023.
//
// Multi-head and multi-query attention are its cases kv_heads == heads and kv_heads == 1. The rows
// of a GGUF file's query and key matrices are permuted so that rotation pairs neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/backend.h"
#include "model/llama_shape.h"
#include "model/step.h"
#include "model/weights.h"

namespace banyan::model {

// A network in the sense of transformer.h. Weights and buffers belong to the backend, which
// outlives it.
template <kernels::Backend B>
class Llama {
 public:
  using Shape = LlamaShape;

  // Takes all of its weights from `packer`; whether that went well is in packer.status(). At most
  // `max_rows` rows in a step and `max_logit_rows` in a call of Head.
  Llama(B& backend, const LlamaShape& shape, bool tied_head, WeightPacker<B>& packer,
        std::int32_t max_rows, std::int32_t max_logit_rows)
      : backend_(backend),
        shape_(shape),
        residual_(backend.MakeActivations(max_rows, shape.embedding)),
        query_(backend.MakeActivations(max_rows, shape.heads * shape.head_dim)),
        key_(backend.MakeActivations(max_rows, shape.kv_heads * shape.head_dim)),
        value_(backend.MakeActivations(max_rows, shape.kv_heads * shape.head_dim)),
        gate_(backend.MakeActivations(max_rows, shape.feed_forward)),
        up_(backend.MakeActivations(max_rows, shape.feed_forward)),
        logits_(backend.MakeActivations(max_logit_rows, shape.vocabulary)),
        normed_(backend.MakeInput(max_rows, shape.embedding)),
        attended_(backend.MakeInput(max_rows, shape.heads * shape.head_dim)),
        activated_(backend.MakeInput(max_rows, shape.feed_forward)),
        head_input_(backend.MakeInput(max_logit_rows, shape.embedding)),
        tied_head_(tied_head) {
    embedding_ = packer.Matrix("token_embd.weight", shape.vocabulary, shape.embedding);
    for (std::int32_t i = 0; i < shape.layers && packer.ok(); ++i) {
      layers_.push_back(PackLayer(packer, absl::StrCat("blk.", i, ".")));
    }
    final_norm_ = packer.Vector("output_norm.weight", shape.embedding);
    if (!tied_head) head_ = packer.Matrix("output.weight", shape.vocabulary, shape.embedding);
  }

  // Computes the step's rows; the pages hold their keys and values afterwards.
  void Forward(const Step& step) {
    backend_.Embed(embedding_, step.tokens(), 1.0F, residual_);
    for (std::int32_t i = 0; i < shape_.layers; ++i) {
      WriteKeysAndValues(i, step);
      // Behind the last layer's keys and values lie only the logits.
      if (i + 1 == shape_.layers && step.logit_rows().empty()) return;
      AttendAndFeedForward(i, step);
    }
  }

  // The logits of the given rows of the last Forward: row i of the result is that of rows[i].
  const typename B::Activations& Head(std::span<const std::int32_t> rows) {
    backend_.RmsNormRows(residual_, final_norm_, shape_.norm_epsilon, rows, head_input_);
    backend_.MatMul(tied_head_ ? embedding_ : head_, head_input_,
                    static_cast<std::int32_t>(rows.size()), logits_);
    return logits_;
  }

 private:
  struct Layer {
    typename B::Vector attention_norm, feed_forward_norm;
    typename B::Matrix query, key, value, output;  // output: back into the residual
    typename B::Matrix gate, up, down;
  };

  Layer PackLayer(WeightPacker<B>& packer, const std::string& prefix) const {
    const std::int64_t width = shape_.embedding;
    const std::int64_t attention = std::int64_t{shape_.heads} * shape_.head_dim;
    const std::int64_t kv = std::int64_t{shape_.kv_heads} * shape_.head_dim;
    const std::int64_t hidden = shape_.feed_forward;
    Layer layer;
    layer.attention_norm = packer.Vector(prefix + "attn_norm.weight", width);
    layer.query = packer.Matrix(prefix + "attn_q.weight", attention, width);
    layer.key = packer.Matrix(prefix + "attn_k.weight", kv, width);
    layer.value = packer.Matrix(prefix + "attn_v.weight", kv, width);
    layer.output = packer.Matrix(prefix + "attn_output.weight", width, attention);
    layer.feed_forward_norm = packer.Vector(prefix + "ffn_norm.weight", width);
    layer.gate = packer.Matrix(prefix + "ffn_gate.weight", hidden, width);
    layer.up = packer.Matrix(prefix + "ffn_up.weight", hidden, width);
    layer.down = packer.Matrix(prefix + "ffn_down.weight", width, hidden);
    return layer;
  }

  void WriteKeysAndValues(std::int32_t index, const Step& step) {
    const Layer& layer = layers_[static_cast<std::size_t>(index)];
    const std::int32_t rows = step.rows();
    backend_.RmsNorm(residual_, layer.attention_norm, shape_.norm_epsilon, rows, normed_);
    backend_.MatMul(layer.query, normed_, rows, query_);
    backend_.MatMul(layer.key, normed_, rows, key_);
    backend_.MatMul(layer.value, normed_, rows, value_);
    backend_.RopeAndStore(query_, key_, value_, shape_.rope, step.runs(), index);
  }

  void AttendAndFeedForward(std::int32_t index, const Step& step) {
    const Layer& layer = layers_[static_cast<std::size_t>(index)];
    const std::int32_t rows = step.rows();
    const kernels::AttentionSpan span{.scale =
                                          1.0F / std::sqrt(static_cast<float>(shape_.head_dim))};
    backend_.Attend(query_, span, step.runs(), index, attended_);
    backend_.MatMulAdd(layer.output, attended_, rows, residual_);
    backend_.RmsNorm(residual_, layer.feed_forward_norm, shape_.norm_epsilon, rows, normed_);
    backend_.MatMul(layer.gate, normed_, rows, gate_);
    backend_.MatMul(layer.up, normed_, rows, up_);
    backend_.Gate(kernels::GateFunction::kSilu, gate_, up_, rows, activated_);
    backend_.MatMulAdd(layer.down, activated_, rows, residual_);
  }

  B& backend_;
  const LlamaShape shape_;
  typename B::Activations residual_, query_, key_, value_, gate_, up_, logits_;
  typename B::Input normed_, attended_, activated_, head_input_;
  typename B::Matrix embedding_, head_;
  typename B::Vector final_norm_;
  const bool tied_head_;
  std::vector<Layer> layers_;
};

}  // namespace banyan::model
