#include "tests/bench/made_up_model.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metadata.h"
#include "kernels/tensor.h"

namespace banyan::bench {
namespace {

class Keys final : public Metadata {
 public:
  explicit Keys(const MadeUpShape& shape) : name_(shape.name) {
    integers_ = {{"llama.block_count", shape.layers},
                 {"llama.context_length", 1 << 20},
                 {"llama.embedding_length", shape.embedding},
                 {"llama.feed_forward_length", shape.feed_forward},
                 {"llama.attention.head_count", shape.heads},
                 {"llama.attention.head_count_kv", shape.kv_heads},
                 {"llama.attention.key_length", shape.head_dim},
                 {"llama.rope.dimension_count", shape.head_dim}};
  }
  bool Has(std::string_view key) const override {
    return integers_.contains(key) || String(key).has_value() || Float(key).has_value();
  }
  std::optional<std::string_view> String(std::string_view key) const override {
    if (key == "general.architecture") return "llama";
    if (key == "general.name") return name_;
    return std::nullopt;
  }
  std::optional<std::int64_t> Integer(std::string_view key) const override {
    const auto found = integers_.find(key);
    if (found == integers_.end()) return std::nullopt;
    return found->second;
  }
  std::optional<double> Float(std::string_view key) const override {
    if (key == "llama.attention.layer_norm_rms_epsilon") return 1e-5;
    if (key == "llama.rope.freq_base") return 500'000;
    return std::nullopt;
  }
  std::optional<bool> Bool(std::string_view /*key*/) const override { return std::nullopt; }
  std::optional<std::vector<std::string_view>> Strings(std::string_view /*key*/) const override {
    return std::nullopt;
  }
  std::optional<std::vector<std::int64_t>> Integers(std::string_view /*key*/) const override {
    return std::nullopt;
  }
  std::optional<std::vector<double>> Floats(std::string_view /*key*/) const override {
    return std::nullopt;
  }

 private:
  const std::string name_;
  std::map<std::string, std::int64_t, std::less<>> integers_;
};

class MadeUpFile final : public model::File {
 public:
  explicit MadeUpFile(const MadeUpShape& shape) : keys_(shape) {
    const std::int64_t attention = std::int64_t{shape.heads} * shape.head_dim;
    const std::int64_t kv = std::int64_t{shape.kv_heads} * shape.head_dim;
    AddMatrix("token_embd", shape.vocabulary, shape.embedding);
    for (std::int32_t i = 0; i < shape.layers; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      AddNorm(layer + "attn_norm", shape.embedding);
      AddMatrix(layer + "attn_q", attention, shape.embedding);
      AddMatrix(layer + "attn_k", kv, shape.embedding);
      AddMatrix(layer + "attn_v", kv, shape.embedding);
      AddMatrix(layer + "attn_output", shape.embedding, attention);
      AddNorm(layer + "ffn_norm", shape.embedding);
      AddMatrix(layer + "ffn_gate", shape.feed_forward, shape.embedding);
      AddMatrix(layer + "ffn_up", shape.feed_forward, shape.embedding);
      AddMatrix(layer + "ffn_down", shape.embedding, shape.feed_forward);
    }
    AddNorm("output_norm", shape.embedding);
    if (!shape.tied_head) AddMatrix("output", shape.vocabulary, shape.embedding);
    Fill();
  }

  const Metadata& metadata() const override { return keys_; }
  std::span<const model::StoredTensor> tensors() const override { return tensors_; }
  void Release(const model::StoredTensor& /*tensor*/) const override {}
  std::int64_t bytes() const override {
    std::int64_t bytes = 0;
    for (const model::StoredTensor& tensor : tensors_) bytes += std::ssize(tensor.data);
    return bytes;
  }
  std::int32_t parts() const override { return 1; }

 private:
  void AddMatrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    Add(name, kernels::DType::kBF16, {cols, rows, 1, 1});
    most_numbers_ = std::max(most_numbers_, rows * cols);
  }
  void AddNorm(const std::string& name, std::int64_t size) {
    Add(name, kernels::DType::kF32, {size, 1, 1, 1});
    ones_.resize(std::max(ones_.size(), static_cast<std::size_t>(size)), 1.0F);
  }
  void Add(const std::string& name, kernels::DType type, std::array<std::int64_t, 4> dims) {
    model::StoredTensor& tensor = tensors_.emplace_back();
    tensor.name = names_.emplace_back(name + ".weight");
    tensor.type = static_cast<std::uint32_t>(type);
    tensor.dims = dims;
  }

  // Uniform within +-0.03, as large as weights are; and the views, once nothing moves any more.
  void Fill() {
    numbers_.resize(static_cast<std::size_t>(most_numbers_));
    std::mt19937_64 random(1);
    for (std::uint16_t& number : numbers_) {
      const float value = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
      number = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value * 0.06F) >> 16);
    }
    for (model::StoredTensor& tensor : tensors_) {
      const auto count = static_cast<std::size_t>(tensor.dims[0] * tensor.dims[1]);
      tensor.data = tensor.type == static_cast<std::uint32_t>(kernels::DType::kF32)
                        ? std::as_bytes(std::span(ones_).first(count))
                        : std::as_bytes(std::span(numbers_).first(count));
    }
  }

  const Keys keys_;
  std::deque<std::string> names_;
  std::vector<model::StoredTensor> tensors_;
  std::int64_t most_numbers_ = 0;
  std::vector<std::uint16_t> numbers_;
  std::vector<float> ones_;
};

}  // namespace

std::unique_ptr<model::File> MakeUp(const MadeUpShape& shape) {
  return std::make_unique<MadeUpFile>(shape);
}

}  // namespace banyan::bench
