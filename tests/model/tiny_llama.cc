#include "tests/model/tiny_llama.h"

#include <gtest/gtest.h>

#include <cmath>
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

  // One block of the tensor's type.
  void Block() {
    switch (tensor_.type) {
      case DType::kF32:
        return F32();
      case DType::kF16:
        return F16();
      case DType::kQ8_0:
        return Q8_0();
      case DType::kQ4_1:
        return Q4_1();
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

TinyLlama::TinyLlama(const TinyOptions& tiny) : options(tiny) {
  Random random(tiny.seed);
  const int attention = tiny.heads * tiny.head_dim;
  const int kv = tiny.kv_heads * tiny.head_dim;
  AddMatrix(random, "token_embd.weight", tiny.vocabulary, tiny.embedding);
  for (int i = 0; i < tiny.layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    AddNorm(random, prefix + "attn_norm.weight", tiny.embedding);
    AddMatrix(random, prefix + "attn_q.weight", attention, tiny.embedding);
    AddMatrix(random, prefix + "attn_k.weight", kv, tiny.embedding);
    AddMatrix(random, prefix + "attn_v.weight", kv, tiny.embedding);
    AddMatrix(random, prefix + "attn_output.weight", tiny.embedding, attention);
    AddNorm(random, prefix + "ffn_norm.weight", tiny.embedding);
    AddMatrix(random, prefix + "ffn_gate.weight", tiny.feed_forward, tiny.embedding);
    AddMatrix(random, prefix + "ffn_up.weight", tiny.feed_forward, tiny.embedding);
    AddMatrix(random, prefix + "ffn_down.weight", tiny.embedding, tiny.feed_forward);
  }
  AddNorm(random, "output_norm.weight", tiny.embedding);
  if (!tiny.tied_head) AddMatrix(random, "output.weight", tiny.vocabulary, tiny.embedding);
}

void TinyLlama::AddMatrix(Random& random, const std::string& name, int rows, int cols) {
  TinyTensor tensor{.name = name, .type = options.type, .rows = rows, .cols = cols};
  // Sized so that each product keeps the deviation of its input.
  Encoder encoder(random, 1 / std::sqrt(static_cast<double>(cols)), tensor);
  const int block = static_cast<int>(kernels::ShapeOf(tensor.type).block);
  for (int i = 0; i < rows * cols / block; ++i) encoder.Block();
  encoder.Finish();
  tensors.emplace(name, std::move(tensor));
}

void TinyLlama::AddNorm(Random& random, const std::string& name, int size) {
  TinyTensor tensor{.name = name, .cols = size};
  Bytes bytes;
  for (int i = 0; i < size; ++i) {
    const auto value = static_cast<float>(1 + 0.2 * random.Normal());
    bytes.Put(value);
    tensor.values.push_back(value);
  }
  tensor.bytes = bytes.get();
  tensors.emplace(name, std::move(tensor));
}

GgufWriter TinyLlama::Settings() const {
  const auto integer = [](int value) { return static_cast<std::uint32_t>(value); };
  GgufWriter writer;
  writer.String("general.architecture", "llama").String("general.name", "tiny");
  writer.Uint32("llama.block_count", integer(options.layers));
  writer.Uint32("llama.context_length", 512);
  writer.Uint32("llama.embedding_length", integer(options.embedding));
  writer.Uint32("llama.feed_forward_length", integer(options.feed_forward));
  writer.Uint32("llama.attention.head_count", integer(options.heads));
  writer.Uint32("llama.attention.head_count_kv", integer(options.kv_heads));
  writer.Uint32("llama.attention.key_length", integer(options.head_dim));
  writer.Uint32("llama.attention.value_length", integer(options.head_dim));
  writer.Uint32("llama.rope.dimension_count", integer(options.rope_dims));
  writer.Float32("llama.rope.freq_base", options.rope_base);
  writer.Float32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.Uint32("llama.vocab_size", integer(options.vocabulary));
  return writer;
}

void TinyLlama::AddTensors(GgufWriter& writer) const {
  for (const auto& [name, tensor] : tensors) {
    writer.Tensor(name, static_cast<std::uint32_t>(tensor.type), tensor.dims(), tensor.bytes);
  }
}

std::vector<std::byte> TinyLlama::Write() const {
  GgufWriter writer = Settings();
  AddTensors(writer);
  return writer.Write();
}

std::unique_ptr<File> OpenBytes(std::vector<std::byte> bytes) {
  return std::make_unique<OwnedFile>(std::move(bytes));
}

}  // namespace banyan::model
