// A decoder: layers of attention with rotary positions and of a gated feed-forward, each behind an
// RMS norm, adding to one residual. Vaswani et al., 2017; Touvron et al., "LLaMA", 2023.
//
//   x = embedding[token] * embedding_scale
//   per layer:  h = norm(x);  q, k, v = products of h (+ biases);  q, k = norm within each head
//               k and v go to the pages, q and k rotated;  observers note what q sees
//               x += post(W attention(q, pages))
//               h = norm(x);  x += post(W (gate(G h) * U h))
//   logits = head(norm(x))
//
// What DecoderShape leaves out is not computed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/backend.h"
#include "model/decoder_shape.h"
#include "model/decoder_weights.h"
#include "model/step.h"
#include "model/weights.h"

namespace banyan::model {

// A network in the sense of transformer.h. Weights and buffers belong to the backend, which
// outlives it.
template <kernels::Backend B>
class Decoder {
 public:
  using Shape = DecoderShape;

  // At most `max_rows` rows in a step and `max_logit_rows` in a call of Head.
  Decoder(B& backend, const DecoderShape& shape, WeightPacker<B>& packer, std::int32_t max_rows,
          std::int32_t max_logit_rows)
      : backend_(backend),
        shape_(shape),
        weights_(shape_, packer),
        residual_(backend.MakeActivations(max_rows, shape.embedding)),
        query_(backend.MakeActivations(max_rows, shape.heads * shape.head_dim)),
        key_(backend.MakeActivations(max_rows, shape.kv_heads * shape.head_dim)),
        value_(backend.MakeActivations(max_rows, shape.kv_heads * shape.head_dim)),
        logits_(backend.MakeActivations(max_logit_rows, shape.vocabulary)),
        normed_(backend.MakeInput(max_rows, shape.embedding)),
        attended_(backend.MakeInput(max_rows, shape.heads * shape.head_dim)),
        activated_(backend.MakeInput(max_rows, shape.feed_forward)),
        head_input_(backend.MakeInput(max_logit_rows, shape.embedding)) {
    if (shape.post_norms) added_ = backend.MakeActivations(max_rows, shape.embedding);
    if constexpr (kernels::DeviceBackend<B>) {
      backend.Reserve({.rows = max_rows,
                       .logit_rows = max_logit_rows,
                       .heads = shape.heads,
                       .head_dim = shape.head_dim,
                       .feed_forward = shape.feed_forward,
                       .vocabulary = shape.vocabulary});
    }
  }

  // Computes the step's rows; the pages hold their keys and values afterwards.
  void Forward(const Step& step) {
    backend_.Embed(weights_.embedding, step.tokens(), shape_.embedding_scale, residual_);
    for (std::int32_t i = 0; i < shape_.layers; ++i) {
      WriteKeysAndValues(i, step);
      if constexpr (kernels::CompactingBackend<B>)
        backend_.Observe(query_, SpanOf(i, nullptr), step.runs(), i);
      // Behind the last layer's keys and values lie only the logits.
      if (i + 1 == shape_.layers && step.logit_rows().empty()) return;
      Attend(i, step);
      FeedForward(i, step);
    }
  }

  // The logits of the given rows of the last Forward: row i of the result is that of rows[i].
  const typename B::Activations& Head(std::span<const std::int32_t> rows) {
    NormForHead(rows);
    backend_.MatMul(HeadMatrix(), head_input_, static_cast<std::int32_t>(rows.size()), logits_);
    return logits_;
  }
  // The greatest of them, which are not kept.
  void Greatest(std::span<const std::int32_t> rows, std::span<TokenId> out) {
    NormForHead(rows);
    backend_.MatMulGreatest(HeadMatrix(), head_input_, out);
  }

 private:
  using Weights = DecoderWeights<B>;
  using Vector = typename Weights::Vector;
  using Product = typename Weights::Product;
  using Layer = typename Weights::Layer;

  const Layer& LayerAt(std::int32_t i) const {
    return weights_.layers[static_cast<std::size_t>(i)];
  }

  const typename B::Matrix& HeadMatrix() const {
    return weights_.head ? *weights_.head : weights_.embedding;
  }

  void NormForHead(std::span<const std::int32_t> rows) {
    backend_.RmsNormRows(residual_, weights_.final_norm, shape_.norm_epsilon, rows, head_input_);
  }

  void WriteKeysAndValues(std::int32_t index, const Step& step) {
    const Layer& layer = LayerAt(index);
    const std::int32_t rows = step.rows();
    backend_.RmsNorm(residual_, layer.attention_norm, shape_.norm_epsilon, rows, normed_);
    const typename B::Product products[] = {{LinearOf(layer.query), &query_},
                                            {LinearOf(layer.key), &key_},
                                            {LinearOf(layer.value), &value_}};
    backend_.MatMulEach(products, normed_, rows);
    NormHeads(layer.query_norm, rows, query_);
    NormHeads(layer.key_norm, rows, key_);
    backend_.RopeAndStore(query_, key_, value_, shape_.RopeOf(index), step.runs(), index);
  }

  void Attend(std::int32_t index, const Step& step) {
    const Layer& layer = LayerAt(index);
    const kernels::Rope rope = shape_.RopeOf(index);
    backend_.Attend(query_, SpanOf(index, &rope), step.runs(), index, attended_);
    AddToResidual(layer.output, attended_, layer.post_attention_norm, step.rows());
  }

  kernels::AttentionSpan SpanOf(std::int32_t index, const kernels::Rope* rope) const {
    return {.scale = shape_.attention_scale,
            .window = shape_.attention[static_cast<std::size_t>(index)].window,
            .rope = rope};
  }

  void FeedForward(std::int32_t index, const Step& step) {
    const Layer& layer = LayerAt(index);
    const std::int32_t rows = step.rows();
    backend_.RmsNorm(residual_, layer.feed_forward_norm, shape_.norm_epsilon, rows, normed_);
    backend_.MatMulGate(shape_.gate, LinearOf(layer.gate), LinearOf(layer.up), normed_, rows,
                        activated_);
    AddToResidual(layer.down, activated_, layer.post_feed_forward_norm, rows);
  }

  static typename B::Linear LinearOf(const Product& product) {
    return {product.matrix, product.bias ? &*product.bias : nullptr};
  }

  void NormHeads(const std::optional<Vector>& norm, std::int32_t rows,
                 typename B::Activations& heads) {
    if (norm) backend_.RmsNormHeads(*norm, shape_.norm_epsilon, rows, heads);
  }

  void AddToResidual(const Product& product, const typename B::Input& in,
                     const std::optional<Vector>& post_norm, std::int32_t rows) {
    if (post_norm) {
      backend_.MatMul(LinearOf(product), in, rows, *added_);
      backend_.RmsNormAdd(*added_, *post_norm, shape_.norm_epsilon, rows, residual_);
      return;
    }
    backend_.MatMulAdd(LinearOf(product), in, rows, residual_);
  }

  B& backend_;
  const DecoderShape shape_;
  const Weights weights_;
  typename B::Activations residual_, query_, key_, value_, logits_;
  std::optional<typename B::Activations> added_;  // what a post norm reads
  typename B::Input normed_, attended_, activated_, head_input_;
};

}  // namespace banyan::model
