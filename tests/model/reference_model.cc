#include "tests/model/reference_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

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
  explicit Reference(const TinyModel& model) : model_(model), o_(model.options) {}

  std::vector<Row> Run(const std::vector<TokenId>& tokens) {
    std::vector<Row> xs;
    const TinyTensor& embedding = model_.tensors.at("token_embd.weight");
    const double scale = o_.family == "gemma3" ? std::sqrt(o_.embedding) : 1;
    for (const TokenId token : tokens) {
      Row x;
      for (int c = 0; c < o_.embedding; ++c) x.push_back(scale * embedding.at(token, c));
      xs.push_back(x);
    }
    for (int i = 0; i < o_.layers; ++i) RunLayer(xs, i);
    const TinyTensor& head = o_.tied_head ? embedding : model_.tensors.at("output.weight");
    for (Row& x : xs) x = Times(head, RmsNorm(model_.tensors.at("output_norm.weight"), x));
    return xs;
  }

 private:
  bool IsGlobal(int layer) const {
    if (o_.window == 0) return true;
    return o_.family == "gemma3" && layer % o_.global_every == o_.global_every - 1;
  }

  // W x + b, where the file has a b.
  Row Product(const std::string& name, const Row& x) const {
    Row out = Times(model_.tensors.at(name + ".weight"), x);
    const auto bias = model_.tensors.find(name + ".bias");
    if (bias != model_.tensors.end()) AddTo(out, bias->second.values);
    return out;
  }

  Row Norm(const std::string& name, const Row& x) const {
    return RmsNorm(model_.tensors.at(name + ".weight"), x);
  }

  void NormHeads(const std::string& name, Row& x) const {
    for (auto head = x.begin(); head != x.end(); head += o_.head_dim) {
      const Row normed = Norm(name, Row(head, head + o_.head_dim));
      std::copy(normed.begin(), normed.end(), head);
    }
  }

  double Angle(int layer, std::size_t position, std::size_t pair) const {
    const bool local = o_.family == "gemma3" && !IsGlobal(layer);
    const auto base = static_cast<double>(local ? o_.local_rope_base : o_.rope_base);
    double angle = static_cast<double>(position) *
                   std::pow(base, -2 * static_cast<double>(pair) / o_.rope_dims);
    if (!local) angle /= static_cast<double>(o_.rope_scaling);
    if (!o_.rope_factors.empty()) angle /= static_cast<double>(o_.rope_factors[pair]);
    return angle;
  }

  void Rotate(Row& x, int layer, std::size_t position) const {
    const auto pairs = static_cast<std::size_t>(o_.rope_dims) / 2;
    const bool neighbours = o_.family == "llama";
    for (std::size_t head = 0; head < x.size(); head += static_cast<std::size_t>(o_.head_dim)) {
      for (std::size_t i = 0; i < pairs; ++i) {
        const double angle = Angle(layer, position, i);
        double& first = x[head + (neighbours ? 2 * i : i)];
        double& second = x[head + (neighbours ? 2 * i + 1 : i + pairs)];
        const double a = first;
        const double b = second;
        first = a * std::cos(angle) - b * std::sin(angle);
        second = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }

  double ScoreDivisor() const {
    const bool is_gemma_27b = o_.family == "gemma3" && o_.layers == 62;
    return std::sqrt(is_gemma_27b ? o_.embedding / o_.heads : o_.head_dim);
  }

  // The attention of the query of the last key's position.
  Row Attend(const Row& query, const std::vector<Row>& keys, const std::vector<Row>& values,
             int layer) const {
    const auto dim = static_cast<std::size_t>(o_.head_dim);
    const auto window = static_cast<std::size_t>(IsGlobal(layer) ? 0 : o_.window);
    const std::size_t first = window == 0 || keys.size() <= window ? 0 : keys.size() - window;
    Row out(query.size());
    for (std::size_t head = 0; head < query.size() / dim; ++head) {
      const std::size_t kv = head / static_cast<std::size_t>(o_.heads / o_.kv_heads);
      Row weights(first);
      double sum = 0;
      for (std::size_t t = first; t < keys.size(); ++t) {
        double score = 0;
        for (std::size_t i = 0; i < dim; ++i)
          score += query[head * dim + i] * keys[t][kv * dim + i];
        weights.push_back(std::exp(score / ScoreDivisor()));
        sum += weights.back();
      }
      for (std::size_t t = first; t < values.size(); ++t) {
        for (std::size_t i = 0; i < dim; ++i) {
          out[head * dim + i] += weights[t] / sum * values[t][kv * dim + i];
        }
      }
    }
    return out;
  }

  double Activate(double x) const {
    if (o_.family != "gemma3") return x / (1 + std::exp(-x));
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
  }

  void RunLayer(std::vector<Row>& xs, int layer) const {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    std::vector<Row> keys;
    std::vector<Row> values;
    for (std::size_t position = 0; position < xs.size(); ++position) {
      Row& x = xs[position];
      Row h = Norm(prefix + "attn_norm", x);
      Row query = Product(prefix + "attn_q", h);
      Row key = Product(prefix + "attn_k", h);
      values.push_back(Product(prefix + "attn_v", h));
      if (o_.has_head_norms()) {
        NormHeads(prefix + "attn_q_norm", query);
        NormHeads(prefix + "attn_k_norm", key);
      }
      Rotate(query, layer, position);
      Rotate(key, layer, position);
      keys.push_back(key);
      h = Product(prefix + "attn_output", Attend(query, keys, values, layer));
      AddTo(x, o_.has_post_norms() ? Norm(prefix + "post_attention_norm", h) : h);
      h = Norm(prefix + "ffn_norm", x);
      Row gate = Product(prefix + "ffn_gate", h);
      const Row up = Product(prefix + "ffn_up", h);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = Activate(gate[i]) * up[i];
      h = Product(prefix + "ffn_down", gate);
      AddTo(x, o_.has_post_norms() ? Norm(prefix + "post_ffw_norm", h) : h);
    }
  }

  const TinyModel& model_;
  const TinyOptions& o_;
};

}  // namespace

std::vector<std::vector<double>> ReferenceLogits(const TinyModel& model,
                                                 const std::vector<TokenId>& tokens) {
  return Reference(model).Run(tokens);
}

}  // namespace banyan::model
