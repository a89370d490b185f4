// Tiny model files of every family with random weights, and the same weights as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/tensor.h"
#include "model/gguf.h"
#include "tests/model/gguf_writer.h"

namespace banyan::model {

// Numbers that are the same everywhere: the library's distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  std::uint32_t Below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(generator_() >> 32) % bound;
  }
  // Roughly normal with deviation 1: the sum of twelve uniforms (Irwin-Hall).
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(generator_() >> 11) * 0x1p-53;
    return sum;
  }

 private:
  std::mt19937_64 generator_;
};

struct TinyOptions {
  std::string family = "llama";
  kernels::DType type = kernels::DType::kF32;  // of the matrices; vectors are F32
  int layers = 2;
  int heads = 4;
  int kv_heads = 2;
  int head_dim = 16;
  int embedding = 64;
  int feed_forward = 96;
  int vocabulary = 100;  // not a multiple of a tile
  int rope_dims = 16;
  float rope_base = 10000.0F;
  bool tied_head = false;
  std::uint64_t seed = 1;

  float rope_scaling = 1;             // positions are divided by it
  int window = 0;                     // llama: of every layer; gemma3: of the local ones
  bool biases = false;                // llama: on every product
  std::vector<float> rope_factors{};  // llama
  float local_rope_base = 10000.0F;   // gemma3
  int global_every = 6;               // gemma3: of so many layers the last sees all

  bool has_head_norms() const { return family == "qwen3" || family == "gemma3"; }
  bool has_post_norms() const { return family == "gemma3"; }
};

// A matrix in the file's bytes, and exactly the numbers that they stand for, row after row.
struct TinyTensor {
  std::string name{};
  kernels::DType type = kernels::DType::kF32;
  int rows = 1;
  int cols = 1;
  std::vector<std::byte> bytes{};
  std::vector<double> values{};

  // As a file names them; a vector has one.
  std::vector<std::uint64_t> dims() const {
    const auto width = static_cast<std::uint64_t>(cols);
    if (rows == 1) return {width};
    return {width, static_cast<std::uint64_t>(rows)};
  }
  double at(int row, int col) const { return values[static_cast<std::size_t>(row * cols + col)]; }
};

struct TinyModel {
  TinyOptions options;
  std::map<std::string, TinyTensor> tensors;

  explicit TinyModel(const TinyOptions& tiny);

  // Keys and tensors as a file; a test may change what it gets before it writes.
  GgufWriter Settings() const;
  void AddTensors(GgufWriter& writer) const;
  std::vector<std::byte> Write() const;

 private:
  void AddLayer(Random& random, const std::string& prefix);
  void AddMatrix(Random& random, const std::string& name, int rows, int cols);
  // A matrix, and a bias where the family has one there.
  void AddProduct(Random& random, const std::string& name, int rows, int cols, bool has_bias);
  void AddNorm(Random& random, const std::string& name, int size);
  void AddVector(const std::string& name, const std::vector<float>& values);
};

// A file that lives in memory.
std::unique_ptr<File> OpenBytes(std::vector<std::byte> bytes);

}  // namespace banyan::model
