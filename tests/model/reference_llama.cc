#include "tests/model/reference_llama.h"

#include <cmath>

namespace banyan::model {
namespace {

using Row = std::vector<double>;

Row Times(const TinyTensor& matrix, const Row& x) {
  Row out;
  for (int r = 0; r < matrix.rows; ++r) {
    double sum = 0;
    for (int c = 0; c < matrix.cols; ++c) sum += matrix.at(r, c) * x[static_cast<std::size_t>(c)];
    out.push_back(sum);
  }
  return out;
}

Row RmsNorm(const TinyTensor& weight, const Row& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
  Row out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] * scale * weight.values[i]);
  return out;
}

void AddTo(Row& x, const Row& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

class Reference {
 public:
  explicit Reference(const TinyLlama& llama) : llama_(llama), o_(llama.options) {}

  std::vector<Row> Run(const std::vector<TokenId>& tokens) {
    std::vector<Row> xs;
    const TinyTensor& embedding = llama_.tensors.at("token_embd.weight");
    for (const TokenId token : tokens) {
      Row x;
      for (int c = 0; c < o_.embedding; ++c) x.push_back(embedding.at(token, c));
      xs.push_back(x);
    }
    for (int i = 0; i < o_.layers; ++i) RunLayer(xs, "blk." + std::to_string(i) + ".");
    const TinyTensor& head = o_.tied_head ? embedding : llama_.tensors.at("output.weight");
    for (Row& x : xs) x = Times(head, RmsNorm(llama_.tensors.at("output_norm.weight"), x));
    return xs;
  }

 private:
  const TinyTensor& Weight(const std::string& prefix, const std::string& name) const {
    return llama_.tensors.at(prefix + name + ".weight");
  }

  void Rotate(Row& x, std::size_t position) const {
    const auto dims = static_cast<std::size_t>(o_.rope_dims);
    for (std::size_t head = 0; head < x.size(); head += static_cast<std::size_t>(o_.head_dim)) {
      for (std::size_t i = 0; i < dims; i += 2) {
        const double angle =
            static_cast<double>(position) *
            std::pow(static_cast<double>(o_.rope_base), -static_cast<double>(i) / o_.rope_dims);
        const double a = x[head + i];
        const double b = x[head + i + 1];
        x[head + i] = a * std::cos(angle) - b * std::sin(angle);
        x[head + i + 1] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }

  // The attention of one query row over the keys and values so far.
  Row Attend(const Row& query, const std::vector<Row>& keys, const std::vector<Row>& values) const {
    const auto dim = static_cast<std::size_t>(o_.head_dim);
    Row out(query.size());
    for (std::size_t head = 0; head < query.size() / dim; ++head) {
      const std::size_t kv = head / static_cast<std::size_t>(o_.heads / o_.kv_heads);
      Row weights;
      double sum = 0;
      for (const Row& key : keys) {
        double score = 0;
        for (std::size_t i = 0; i < dim; ++i) score += query[head * dim + i] * key[kv * dim + i];
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(dim))));
        sum += weights.back();
      }
      for (std::size_t t = 0; t < values.size(); ++t) {
        for (std::size_t i = 0; i < dim; ++i) {
          out[head * dim + i] += weights[t] / sum * values[t][kv * dim + i];
        }
      }
    }
    return out;
  }

  void RunLayer(std::vector<Row>& xs, const std::string& prefix) const {
    std::vector<Row> keys;
    std::vector<Row> values;
    for (std::size_t position = 0; position < xs.size(); ++position) {
      Row& x = xs[position];
      Row h = RmsNorm(Weight(prefix, "attn_norm"), x);
      Row query = Times(Weight(prefix, "attn_q"), h);
      keys.push_back(Times(Weight(prefix, "attn_k"), h));
      values.push_back(Times(Weight(prefix, "attn_v"), h));
      Rotate(query, position);
      Rotate(keys.back(), position);
      AddTo(x, Times(Weight(prefix, "attn_output"), Attend(query, keys, values)));
      h = RmsNorm(Weight(prefix, "ffn_norm"), x);
      Row gate = Times(Weight(prefix, "ffn_gate"), h);
      const Row up = Times(Weight(prefix, "ffn_up"), h);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      AddTo(x, Times(Weight(prefix, "ffn_down"), gate));
    }
  }

  const TinyLlama& llama_;
  const TinyOptions& o_;
};

}  // namespace

std::vector<std::vector<double>> ReferenceLogits(const TinyLlama& llama,
                                                 const std::vector<TokenId>& tokens) {
  return Reference(llama).Run(tokens);
}

}  // namespace banyan::model
