#include "tests/model/tiny_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

namespace banyan::model {
namespace {

using kernels::DType;

// The value of a normal half with the given fields.
double HalfValue(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const double value = std::ldexp(1.0 + (half & 1023) / 1024.0, exponent - 15);
  return (half & 0x8000) != 0 ? -value : value;
}

// A half near `value`, which is normal in that format.
std::uint16_t HalfNear(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const auto fraction = static_cast<std::uint16_t>((mantissa * 2 - 1) * 1023);
  const auto bits = static_cast<std::uint16_t>((exponent + 14) << 10 | fraction);
  return value < 0 ? bits | 0x8000 : bits;
}

// Where a block has its f16 scales, and how many steps deviate by 1. Where an offset is added (or,
// in K blocks, subtracted), it is so many steps that the numbers lie around 0.
struct Scales {
  DType type;
  std::ptrdiff_t step_at;
  double steps;
  std::ptrdiff_t offset_at = -1;
  double offset = 0;
};
constexpr Scales kScales[] = {
    {DType::kQ4_0, 0, 4.6},           {DType::kQ5_0, 0, 9.2},
    {DType::kQ5_1, 0, 9.2, 2, -15.5}, {DType::kQ4_K, 0, 260, 2, 7.5},
    {DType::kQ5_K, 0, 520, 2, 15.5},  {DType::kQ6_K, 208, 1370},
};

class Encoder {
 public:
  Encoder(Random& random, double deviation, TinyTensor& tensor)
      : random_(random), deviation_(deviation), tensor_(tensor) {}

  void F32() {
    const auto value = static_cast<float>(random_.Normal() * deviation_);
    bytes_.Put(value);
    tensor_.values.push_back(value);
  }
  void F16() {
    const double value = random_.Normal() * deviation_;
    const std::uint16_t half = HalfNear(std::abs(value) < 1e-4 ? 1e-4 : value);
    bytes_.Put(half);
    tensor_.values.push_back(HalfValue(half));
  }
  void Q8_0() {
    const std::uint16_t d = HalfNear(deviation_ / 40);
    bytes_.Put(d);
    for (int i = 0; i < 32; ++i) {
      const int q = std::clamp(static_cast<int>(random_.Normal() * 40), -128, 127);
      bytes_.Put(static_cast<std::int8_t>(q));
      tensor_.values.push_back(HalfValue(d) * q);
    }
  }
  void Q4_1() {
    const std::uint16_t d = HalfNear(deviation_ / 4);
    const std::uint16_t m = HalfNear(-1.9 * deviation_);
    bytes_.Put(d).Put(m);
    std::uint8_t pairs[16];
    for (std::uint8_t& pair : pairs) pair = static_cast<std::uint8_t>(random_.Below(256));
    for (const std::uint8_t pair : pairs) bytes_.Put(pair);
    // The low halves are the block's first 16 values, the high halves the last 16.
    for (const int shift : {0, 4}) {
      for (const std::uint8_t pair : pairs) {
        tensor_.values.push_back(HalfValue(d) * ((pair >> shift) & 15) + HalfValue(m));
      }
    }
  }

  // A block of any other type: random bytes but for its f16 scales. Its numbers are those of
  // DequantizeBlock, which the tests of kernels/ compare with the format's own implementation.
  void Scaled() {
    const auto scales = std::find_if(std::begin(kScales), std::end(kScales),
                                     [&](const Scales& s) { return s.type == tensor_.type; });
    ASSERT_NE(scales, std::end(kScales)) << kernels::ShapeOf(tensor_.type).name;
    const kernels::BlockShape shape = kernels::ShapeOf(tensor_.type);
    std::vector<std::byte> block(static_cast<std::size_t>(shape.bytes));
    for (std::byte& byte : block) byte = static_cast<std::byte>(random_.Below(256));
    const auto put = [&](std::ptrdiff_t at, double value) {
      if (at < 0) return;
      const std::uint16_t half = HalfNear(value);
      std::memcpy(block.data() + at, &half, sizeof half);
    };
    put(scales->step_at, deviation_ / scales->steps);
    put(scales->offset_at, deviation_ / scales->steps * scales->offset);
    bytes_.Append(block);
    std::vector<float> values(static_cast<std::size_t>(shape.block));
    kernels::DequantizeBlock(tensor_.type, block.data(), values.data());
    tensor_.values.insert(tensor_.values.end(), values.begin(), values.end());
  }
  void BF16() {
    const auto value = static_cast<float>(random_.Normal() * deviation_);
    const auto half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    bytes_.Put(half);
    tensor_.values.push_back(std::bit_cast<float>(std::uint32_t{half} << 16));
  }

  // One block of the tensor's type.
  void Block() {
    switch (tensor_.type) {
      case DType::kF32:
        return F32();
      case DType::kF16:
        return F16();
      case DType::kBF16:
        return BF16();
      case DType::kQ8_0:
        return Q8_0();
      case DType::kQ4_1:
        return Q4_1();
      default:
        return Scaled();
    }
  }
  void Finish() { tensor_.bytes = bytes_.get(); }

 private:
  Random& random_;
  const double deviation_;
  TinyTensor& tensor_;
  Bytes bytes_;
};

class OwnedFile final : public File {
 public:
  explicit OwnedFile(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    auto file = Gguf::Parse(bytes_);
    EXPECT_TRUE(file.ok()) << file.status();
    if (file.ok()) file_ = *std::move(file);
  }
  const Metadata& metadata() const override { return file_->metadata(); }
  std::span<const StoredTensor> tensors() const override { return file_->tensors(); }
  void Release(const StoredTensor& tensor) const override { file_->Release(tensor); }
  std::int64_t bytes() const override { return file_->bytes(); }
  std::int32_t parts() const override { return 1; }

 private:
  const std::vector<std::byte> bytes_;
  std::unique_ptr<Gguf> file_;
};

}  // namespace

TinyModel::TinyModel(const TinyOptions& tiny) : options(tiny) {
  Random random(tiny.seed);
  AddMatrix(random, "token_embd.weight", tiny.vocabulary, tiny.embedding);
  for (int i = 0; i < tiny.layers; ++i) AddLayer(random, "blk." + std::to_string(i) + ".");
  AddNorm(random, "output_norm.weight", tiny.embedding);
  if (!tiny.tied_head) AddMatrix(random, "output.weight", tiny.vocabulary, tiny.embedding);
  if (!tiny.rope_factors.empty()) AddVector("rope_freqs.weight", tiny.rope_factors);
}

void TinyModel::AddLayer(Random& random, const std::string& prefix) {
  const TinyOptions& o = options;
  const int attention = o.heads * o.head_dim;
  const int kv = o.kv_heads * o.head_dim;
  const bool input_biases = o.biases || o.family == "qwen2";
  AddNorm(random, prefix + "attn_norm.weight", o.embedding);
  AddProduct(random, prefix + "attn_q", attention, o.embedding, input_biases);
  AddProduct(random, prefix + "attn_k", kv, o.embedding, input_biases);
  AddProduct(random, prefix + "attn_v", kv, o.embedding, input_biases);
  AddProduct(random, prefix + "attn_output", o.embedding, attention, o.biases);
  AddNorm(random, prefix + "ffn_norm.weight", o.embedding);
  AddProduct(random, prefix + "ffn_gate", o.feed_forward, o.embedding, o.biases);
  AddProduct(random, prefix + "ffn_up", o.feed_forward, o.embedding, o.biases);
  AddProduct(random, prefix + "ffn_down", o.embedding, o.feed_forward, o.biases);
  if (o.has_head_norms()) {
    AddNorm(random, prefix + "attn_q_norm.weight", o.head_dim);
    AddNorm(random, prefix + "attn_k_norm.weight", o.head_dim);
  }
  if (o.has_post_norms()) {
    AddNorm(random, prefix + "post_attention_norm.weight", o.embedding);
    AddNorm(random, prefix + "post_ffw_norm.weight", o.embedding);
  }
}

void TinyModel::AddProduct(Random& random, const std::string& name, int rows, int cols,
                           bool has_bias) {
  AddMatrix(random, name + ".weight", rows, cols);
  if (!has_bias) return;
  std::vector<float> bias;
  for (int i = 0; i < rows; ++i) bias.push_back(static_cast<float>(0.5 * random.Normal()));
  AddVector(name + ".bias", bias);
}

void TinyModel::AddMatrix(Random& random, const std::string& name, int rows, int cols) {
  TinyTensor tensor{.name = name, .type = options.type, .rows = rows, .cols = cols};
  // Sized so that each product keeps the deviation of its input.
  Encoder encoder(random, 1 / std::sqrt(static_cast<double>(cols)), tensor);
  const int block = static_cast<int>(kernels::ShapeOf(tensor.type).block);
  for (int i = 0; i < rows * cols / block; ++i) encoder.Block();
  encoder.Finish();
  tensors.emplace(name, std::move(tensor));
}

void TinyModel::AddNorm(Random& random, const std::string& name, int size) {
  std::vector<float> weights;
  for (int i = 0; i < size; ++i) weights.push_back(static_cast<float>(1 + 0.2 * random.Normal()));
  AddVector(name, weights);
}

void TinyModel::AddVector(const std::string& name, const std::vector<float>& values) {
  TinyTensor tensor{.name = name, .cols = static_cast<int>(values.size())};
  Bytes bytes;
  for (const float value : values) bytes.Put(value);
  tensor.bytes = bytes.get();
  tensor.values.assign(values.begin(), values.end());
  tensors.emplace(name, std::move(tensor));
}

GgufWriter TinyModel::Settings() const {
  const TinyOptions& o = options;
  GgufWriter writer;
  writer.String("general.architecture", o.family).String("general.name", "tiny");
  const auto integer = [&](const char* name, int value) {
    writer.Uint32(o.family + "." + name, static_cast<std::uint32_t>(value));
  };
  integer("block_count", o.layers);
  integer("context_length", 512);
  integer("embedding_length", o.embedding);
  integer("feed_forward_length", o.feed_forward);
  integer("attention.head_count", o.heads);
  integer("attention.head_count_kv", o.kv_heads);
  integer("attention.key_length", o.head_dim);
  integer("attention.value_length", o.head_dim);
  integer("rope.dimension_count", o.rope_dims);
  integer("vocab_size", o.vocabulary);
  writer.Float32(o.family + ".rope.freq_base", o.rope_base);
  writer.Float32(o.family + ".attention.layer_norm_rms_epsilon", 1e-5F);
  if (o.window != 0) integer("attention.sliding_window", o.window);
  if (o.global_every != 6) integer("attention.sliding_window_pattern", o.global_every);
  if (o.local_rope_base != 10000) {
    writer.Float32(o.family + ".rope.freq_base_swa", o.local_rope_base);
  }
  if (o.rope_scaling != 1) {
    writer.String(o.family + ".rope.scaling.type", "linear");
    writer.Float32(o.family + ".rope.scaling.factor", o.rope_scaling);
  }
  return writer;
}

void TinyModel::AddTensors(GgufWriter& writer) const {
  for (const auto& [name, tensor] : tensors) {
    writer.Tensor(name, static_cast<std::uint32_t>(tensor.type), tensor.dims(), tensor.bytes);
  }
}

std::vector<std::byte> TinyModel::Write() const {
  GgufWriter writer = Settings();
  AddTensors(writer);
  return writer.Write();
}

std::unique_ptr<File> OpenBytes(std::vector<std::byte> bytes) {
  return std::make_unique<OwnedFile>(std::move(bytes));
}

}  // namespace banyan::model
