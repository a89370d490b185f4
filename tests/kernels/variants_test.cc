// Every set of instructions gives the bits of the portable one, operation by operation: also where
// numbers are as large, as small or as broken as they can be. Of a NaN only that it is one.

#include "kernels/cpu/variants.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/pack.h"
#include "kernels/half.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

// Inputs are random, of about 1; or any of the numbers at which arithmetic has corners.
enum class Numbers { kUsual, kCorners };
constexpr Numbers kNumbers[] = {Numbers::kUsual, Numbers::kCorners};

class Source {
 public:
  Source(Numbers numbers, std::uint32_t seed) : numbers_(numbers), random_(seed) {}

  float Next() {
    if (numbers_ == Numbers::kUsual) return std::normal_distribution<float>(0.0F, 2.0F)(random_);
    using Limits = std::numeric_limits<float>;
    static constexpr float kCorners[] = {0.0F,
                                         1.0F,
                                         2.5F,
                                         127.0F,
                                         65504.0F,
                                         65519.996F,
                                         65520.0F,
                                         1e-30F,
                                         9.999999e-31F,
                                         0x1p-24F,
                                         0x1.8p-24F,
                                         0x1p-25F,
                                         0x1.ffcp-15F,
                                         0x1p-14F,
                                         87.336544F,
                                         88.376262F,
                                         88.8F,
                                         Limits::min(),
                                         Limits::denorm_min(),
                                         Limits::max(),
                                         Limits::infinity(),
                                         Limits::quiet_NaN(),
                                         1e18F,
                                         1e-18F};
    const std::uint32_t pick = random_();
    // Rarely the last six and often a usual number, so that not every sum is infinite or NaN.
    const std::size_t among = pick % 16 == 0 ? std::size(kCorners) : std::size(kCorners) - 6;
    const float value = pick % 4 == 1 ? std::ldexp(1.0F + static_cast<float>(pick >> 16) * 0x1p-16F,
                                                   static_cast<int>(pick >> 8 & 63) - 40)
                                      : kCorners[(pick >> 8) % among];
    return (pick & 0x80000000U) != 0 ? -value : value;
  }
  std::uint32_t Bits() { return random_(); }
  Row Values(std::int64_t n) {
    Row out(static_cast<std::size_t>(n));
    for (float& value : out) value = Next();
    return out;
  }
  Numbers numbers() const { return numbers_; }

 private:
  Numbers numbers_;
  std::mt19937 random_;
};

// The first value that differs, or nothing.
std::string Difference(const Row& a, const Row& b) {
  if (a.size() != b.size()) return "sizes differ";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      std::array<char, 96> text;
      std::snprintf(text.data(), text.size(), "value %zu: %a and not %a", i, a[i], b[i]);
      return text.data();
    }
  }
  return "";
}

// All that a block of quantized activations says, as floats.
void Append(const QuantBlock& block, Row& out) {
  out.insert(out.end(), block.q, block.q + kQuantBlock);
  out.insert(out.end(), {block.scale, block.sum});
  for (const auto& pair : block.centring) out.insert(out.end(), pair, pair + 2);
}

class Variants : public ::testing::TestWithParam<CpuVariant> {
 protected:
  void SetUp() override {
    if (!GetParam().runs()) GTEST_SKIP() << "this machine does not run " << GetParam().name;
  }

  // `work` gives results by the operations of a variant, from a source that always says the same.
  template <class F>
  void Compare(const F& work) {
    for (const Numbers numbers : kNumbers) {
      for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        Row results[2];
        const Ops* ops[] = {GetParam().ops, FindCpuVariant("portable")->ops};
        for (int i = 0; i < 2; ++i) {
          Source source(numbers, seed);
          results[i] = work(*ops[i], source);
        }
        ASSERT_EQ(Difference(results[0], results[1]), "")
            << (numbers == Numbers::kUsual ? "usual" : "corners") << ", seed " << seed;
      }
    }
  }
};

std::vector<CpuVariant> AllButPortable() {
  std::vector<CpuVariant> out;
  for (const CpuVariant& variant : CpuVariants())
    if (std::string_view(variant.name) != "portable") out.push_back(variant);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Cpu, Variants, ::testing::ValuesIn(AllButPortable()),
                         [](const auto& named) { return std::string(named.param.name); });
// A processor may have no variant but the portable one.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Variants);

TEST(VariantTable, PortableIsTheLastAndAlwaysThere) {
  ASSERT_STREQ(CpuVariants().back().name, "portable");
  EXPECT_TRUE(CpuVariants().back().runs());
  EXPECT_NE(FindCpuVariant(), nullptr);
  EXPECT_EQ(FindCpuVariant("portable"), &CpuVariants().back());
  EXPECT_EQ(FindCpuVariant("abacus"), nullptr);
}

// Rows

constexpr int kCols[] = {1, 2, 7, 8, 9, 31, 32, 33, 64, 96, 100, 576};

// Both forms of a row as `emit(out)` writes them, and what lies behind them, which must stay.
template <class F>
void AppendForms(std::int64_t cols, const F& emit, Row& results) {
  Row floats(static_cast<std::size_t>(cols) + 16, 42.0F);
  emit(RowOut{nullptr, floats.data()});
  results.insert(results.end(), floats.begin(), floats.end());
  if (cols % kQuantBlock != 0) return;
  for (float* second : {static_cast<float*>(nullptr), floats.data()}) {
    std::vector<QuantBlock> blocks(static_cast<std::size_t>(cols / kQuantBlock) + 1);
    std::fill(floats.begin(), floats.end(), 42.0F);
    emit(RowOut{blocks.data(), second});
    for (const QuantBlock& block : blocks) Append(block, results);
    results.insert(results.end(), floats.begin(), floats.end());
  }
}

TEST_P(Variants, QuantizeRows) {
  for (const int cols : kCols) {
    SCOPED_TRACE(cols);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row x = source.Values(cols);
      AppendForms(
          cols, [&](const RowOut& out) { ops.quantize(x.data(), cols, out); }, results);
      return results;
    });
  }
}

TEST_P(Variants, QuantizeEveryStepAndHalfStep) {
  Compare([](const Ops& ops, Source& source) {
    Row results;
    for (int half = -254; half <= 254; ++half) {
      Row x = source.Values(kQuantBlock);
      x[0] = 127.0F;
      for (int i = 1; i < kQuantBlock; ++i) {
        x[i] = static_cast<float>(half) / 2.0F;
        if (i % 3 == 1) x[i] = std::nextafter(x[i], 200.0F);
        if (i % 3 == 2) x[i] = std::nextafter(x[i], -200.0F);
        x[i] = std::clamp(x[i], -127.0F, 127.0F);
      }
      AppendForms(
          kQuantBlock, [&](const RowOut& out) { ops.quantize(x.data(), kQuantBlock, out); },
          results);
    }
    return results;
  });
}

TEST_P(Variants, NormalizeRows) {
  for (const int cols : kCols) {
    SCOPED_TRACE(cols);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row x = source.Values(cols);
      const Row weight = source.Values(cols);
      for (const float eps : {0.0F, 1e-5F})
        AppendForms(
            cols, [&](const RowOut& out) { ops.rms_norm(x.data(), weight.data(), eps, cols, out); },
            results);
      Row sum = source.Values(cols);
      ops.rms_norm_add(x.data(), weight.data(), 1e-6F, cols, sum.data());
      results.insert(results.end(), sum.begin(), sum.end());
      ops.add(x.data(), cols, sum.data());
      results.insert(results.end(), sum.begin(), sum.end());
      ops.rms_norm(sum.data(), weight.data(), 1e-5F, cols, {nullptr, sum.data()});  // in place
      results.insert(results.end(), sum.begin(), sum.end());
      return results;
    });
  }
}

TEST_P(Variants, GateRows) {
  for (const int cols : kCols) {
    SCOPED_TRACE(cols);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row gate = source.Values(cols);
      const Row up = source.Values(cols);
      for (const Ops::Gate function : {ops.gate_silu, ops.gate_gelu_tanh})
        AppendForms(
            cols, [&](const RowOut& out) { function(gate.data(), up.data(), cols, out); }, results);
      return results;
    });
  }
}

// exp, seen through silu: every argument that is a multiple of 1/64, and all around the ends of its
// range.
TEST_P(Variants, GateTheWholeRangeOfExp) {
  Row gate;
  for (float g = -100.0F; g <= 100.0F; g += 0x1p-6F) gate.push_back(g);
  for (const float end : {87.336544F, 88.376262F, 88.02969F}) {
    for (const float sign : {-1.0F, 1.0F}) {
      float g = sign * end;
      for (int i = 0; i < 64; ++i) g = std::nextafter(g, -1000.0F);
      for (int i = 0; i < 128; ++i, g = std::nextafter(g, 1000.0F)) gate.push_back(g);
    }
  }
  const auto cols = std::ssize(gate);
  const Row up(gate.size(), 1.0F);
  Compare([&](const Ops& ops, Source&) {
    Row results(gate.size());
    ops.gate_silu(gate.data(), up.data(), cols, {nullptr, results.data()});
    return results;
  });
}

TEST_P(Variants, Rotate) {
  for (const int dims : {2, 4, 8, 14, 16, 18, 34, 64, 126, 128}) {
    SCOPED_TRACE(dims);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      const Row cos = source.Values((dims + 7) / 8 * 8);
      const Row sin = source.Values((dims + 7) / 8 * 8);
      for (const Ops::Rotate rotate : {ops.rotate_neighbours, ops.rotate_halves}) {
        Row x = source.Values(dims + 3);
        rotate(x.data(), cos.data(), sin.data(), dims);
        results.insert(results.end(), x.begin(), x.end());
      }
      return results;
    });
  }
}

// Bits of halves, as values of their own; a NaN as one that all NaNs are.
float AsValue(std::uint16_t half) {
  return (half & 0x7fff) > 0x7c00 ? 70000.0F : static_cast<float>(half);
}

TEST_P(Variants, StoreHalves) {
  Compare([](const Ops& ops, Source& source) {
    // Random bits, and every half with what lies a little beside it and between it and the next.
    Row x;
    for (int i = 0; i < 4096; ++i) x.push_back(std::bit_cast<float>(source.Bits()));
    for (int i = 0; i < 4096; ++i) x.push_back(source.Next());
    for (std::uint32_t half = 0; half < 0x10000; half += 8) {
      const auto value = [](std::uint32_t h) { return HalfToFloat(static_cast<std::uint16_t>(h)); };
      const std::uint32_t odd = half + source.Bits() % 8;
      const float middle = (value(odd) + value(odd + 1)) / 2;
      for (const float v : {value(odd), middle}) {
        x.push_back(v);
        x.push_back(std::nextafter(v, 1e9F));
        x.push_back(std::nextafter(v, -1e9F));
      }
      x.insert(x.end(), 2, middle);
    }
    std::vector<std::uint16_t> halves(x.size());
    ops.store_f16(x.data(), std::ssize(x), halves.data());
    Row results;
    for (const std::uint16_t half : halves) results.push_back(AsValue(half));
    return results;
  });
}

// Products

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                            DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

Ops::MatMul KernelOf(const Ops& ops, DType type) {
  switch (type) {
    case DType::kF32:
      return ops.matmul_f32;
    case DType::kF16:
      return ops.matmul_f16;
    case DType::kBF16:
      return ops.matmul_bf16;
    case DType::kQ4_0:
      return ops.matmul_q4_0;
    case DType::kQ4_1:
      return ops.matmul_q4_1;
    case DType::kQ5_0:
      return ops.matmul_q5_0;
    case DType::kQ5_1:
      return ops.matmul_q5_1;
    case DType::kQ8_0:
      return ops.matmul_q8_0;
    case DType::kQ4_K:
      return ops.matmul_q4_k;
    case DType::kQ5_K:
      return ops.matmul_q5_k;
    case DType::kQ6_K:
      return ops.matmul_q6_k;
  }
  return nullptr;
}

// The bits of the codes of weights.
enum class Codes { kRandom, kZeros, kOnes };

struct Shape {
  std::int64_t outputs;
  std::int64_t cols;
  std::int32_t rows;
};

// Weights as a file holds them: usual ones finite and of about 1, corners of any bits at all.
std::vector<std::byte> Weights(DType type, const Shape& shape, Codes codes, Source& source) {
  const RandomMatrix usual(type, shape.outputs, shape.cols, source.Bits());
  const BlockShape block = ShapeOf(type);
  const std::int64_t bytes = shape.outputs * shape.cols / block.block * block.bytes;
  std::vector<std::byte> out(usual.host().data, usual.host().data + bytes);
  if (source.numbers() == Numbers::kCorners)
    for (std::byte& byte : out) byte = static_cast<std::byte>(source.Bits() >> 7);
  if (codes == Codes::kRandom || block.block == 1) return out;
  // Everything at one end but the halves of the block, so that scales and mins are extreme too.
  for (std::int64_t at = 0; at < bytes; at += block.bytes) {
    std::byte halves[4];
    const std::int64_t head = type == DType::kQ6_K ? 208 : 0;
    const bool two = type == DType::kQ4_1 || type == DType::kQ5_1 || type == DType::kQ4_K ||
                     type == DType::kQ5_K;
    const std::size_t head_bytes = two ? 4 : 2;
    std::memcpy(halves, out.data() + at + head, head_bytes);
    std::memset(out.data() + at, codes == Codes::kOnes ? 0xff : 0, block.bytes);
    std::memcpy(out.data() + at + head, halves, head_bytes);
  }
  return out;
}

// Inputs as a matrix of the type reads them. With extreme codes every activation is at one end.
struct Inputs {
  Inputs(const Shape& shape, Codes codes, const Ops& portable, Source& source)
      : floats(source.Values(shape.rows * shape.cols)),
        blocks(static_cast<std::size_t>(shape.rows * shape.cols / kQuantBlock)) {
    if (codes != Codes::kRandom) {
      const float end = source.Bits() % 2 == 0 ? 127.0F : -127.0F;
      for (float& value : floats) value = source.Bits() % 8 == 0 ? value : end;
      std::fill_n(floats.begin(), shape.cols, end);
    }
    for (std::size_t b = 0; b < blocks.size(); ++b)
      portable.quantize(floats.data() + b * kQuantBlock, kQuantBlock, {&blocks[b], nullptr});
  }
  Row floats;
  std::vector<QuantBlock> blocks;
};

Row Product(const Ops& ops, DType type, const Shape& shape, Codes codes, Source& source) {
  const std::vector<std::byte> weights = Weights(type, shape, codes, source);
  const HostTensor host{type, shape.outputs, shape.cols, weights.data()};
  const std::int64_t tiles = TileCount(shape.outputs);
  std::vector<std::byte> packed(static_cast<std::size_t>(tiles * TileBytes(type, shape.cols)));
  PackTiles(host, 0, tiles, packed.data());
  const Inputs in(shape, codes, *FindCpuVariant("portable")->ops, source);
  const std::int64_t stride = tiles * kTileRows;
  Row out = source.Values(shape.rows * stride);
  MatMulWork work = {.tiles = packed.data(),
                     .depth = shape.cols / ShapeOf(type).block,
                     .quants = in.blocks.data(),
                     .quant_stride = shape.cols / kQuantBlock,
                     .floats = in.floats.data(),
                     .float_stride = shape.cols,
                     .rows = shape.rows,
                     .out = out.data(),
                     .out_stride = stride,
                     .store = Store::kSet};
  KernelOf(ops, type)(work, 0, tiles);
  Row results = out;
  work.store = Store::kAdd;
  KernelOf(ops, type)(work, tiles / 2, tiles);
  results.insert(results.end(), out.begin(), out.end());
  return results;
}

TEST_P(Variants, Products) {
  for (const DType type : kTypes) {
    const auto block = ShapeOf(type).block;
    std::vector<Shape> shapes;
    for (const std::int32_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 33}) {
      shapes.push_back({33, 2 * block, rows});
      shapes.push_back({16, block, rows});
      if (block == 1) shapes.push_back({15, 37, rows});
    }
    shapes.push_back({16, 4096, 30});  // more bytes of input than go through in one group
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(std::string(ShapeOf(type).name) + ", " + std::to_string(shape.outputs) + " x " +
                   std::to_string(shape.cols) + ", rows " + std::to_string(shape.rows));
      for (const Codes codes : {Codes::kRandom, Codes::kZeros, Codes::kOnes}) {
        Compare([&](const Ops& ops, Source& source) {
          return Product(ops, type, shape, codes, source);
        });
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Attention

std::vector<std::uint16_t> Halves(int count, Source& source) {
  std::vector<std::uint16_t> out;
  for (int i = 0; i < count; ++i) out.push_back(FloatToHalf(source.Next()));
  return out;
}

// One chunk: its keys first .. last - 1 for `queries` queries, merged twice into a state.
Row Chunk(const Ops& ops, int first, int last, int head_dim, int queries, Source& source) {
  constexpr std::uint16_t kNaN = 0xffff;
  std::vector<std::uint16_t> keys = Halves(kChunkKeys * head_dim, source);
  const std::vector<std::uint16_t> values = Halves(kChunkKeys * head_dim, source);
  ChunkHalves chunk = {};  // what is not seen: NaN in a tile, no address elsewhere
  for (int j = 0; j < kChunkKeys; ++j) {
    std::uint16_t* tile = keys.data() + j / kTileKeys * kTileKeys * head_dim;
    if (first <= j && j < last) {
      chunk.keys[j / kTileKeys] = tile;
      chunk.values[j] = values.data() + j * head_dim;
    } else {
      for (int d = 0; d < head_dim; ++d) tile[d * kTileKeys + j % kTileKeys] = kNaN;
    }
  }

  const auto partial_size = static_cast<std::size_t>(kPartialHeader + head_dim);
  const Row q = source.Values(queries * head_dim);
  Row partials(partial_size * static_cast<std::size_t>(queries));
  std::vector<const float*> query_rows;
  std::vector<float*> partial_rows;
  for (int i = 0; i < queries; ++i) {
    query_rows.push_back(q.data() + i * head_dim);
    partial_rows.push_back(partials.data() + static_cast<std::size_t>(i) * partial_size);
  }
  ops.attend({.chunk = &chunk,
              .first = first,
              .last = last,
              .head_dim = head_dim,
              .scale = 0.125F,
              .queries = query_rows.data(),
              .count = queries,
              .partials = partial_rows.data()});
  Row results;
  Row state(partial_size);
  state[0] = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < queries; ++i) {
    const float* partial = partial_rows[static_cast<std::size_t>(i)];
    results.insert(results.end(), {partial[0], partial[1]});
    results.insert(results.end(), partial + kPartialHeader, partial + partial_size);
    ops.merge(partial, head_dim, state.data());
    results.insert(results.end(), {state[0], state[1]});
    results.insert(results.end(), state.begin() + kPartialHeader, state.end());
    Row out(static_cast<std::size_t>(head_dim));
    ops.finish(state.data(), head_dim, out.data());
    results.insert(results.end(), out.begin(), out.end());
  }
  return results;
}

TEST_P(Variants, Attend) {
  for (const int head_dim : {8, 24, 72}) {
    for (const int last : {1, 7, 8, 9, 16, 17, 33, 63, 64}) {
      for (const int queries : {1, 2, 3, 4, 5, 6, 13}) {
        SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(last) + " keys of " +
                     std::to_string(head_dim));
        for (const int first : {0, last / 3, last - 1}) {
          Compare([&](const Ops& ops, Source& source) {
            return Chunk(ops, first, last, head_dim, queries, source);
          });
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// What the portable functions are made of

TEST(Portable, FmaRoundsOnceAsTheLibrarysDoes) {
  Source usual(Numbers::kUsual, 1);
  Source corners(Numbers::kCorners, 2);
  for (int i = 0; i < 300'000; ++i) {
    Source& source = i % 2 == 0 ? usual : corners;
    float a = source.Next();
    float b = source.Next();
    float c = source.Next();
    if (i % 3 == 0) {  // any numbers at all
      a = std::bit_cast<float>(source.Bits());
      b = std::bit_cast<float>(source.Bits());
      c = std::bit_cast<float>(source.Bits());
    }
    if (i % 5 == 0) {  // a sum just beside, or at, the middle of two floats
      a = 1.0F + static_cast<float>(source.Bits() % 4096) * 0x1p-12F;
      b = 1.0F + static_cast<float>(source.Bits() % 4096) * 0x1p-12F;
      c = std::ldexp(source.Bits() % 2 == 0 ? 1.0F : -1.0F,
                     static_cast<int>(source.Bits() % 60) - 30);
    }
    ASSERT_EQ(Difference({portable::Fma(a, b, c)}, {std::fma(a, b, c)}), "")
        << std::hexfloat << a << " * " << b << " + " << c;
  }
}

TEST(Portable, HalvesRoundAsTheirDefinitionSays) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const float value = HalfToFloat(static_cast<std::uint16_t>(half));
    if (std::isnan(value)) {
      ASSERT_GT(half & 0x7fff, 0x7c00) << half;
      ASSERT_TRUE(std::isnan(HalfToFloat(kernels::FloatToHalf(value))));
      continue;
    }
    ASSERT_EQ(kernels::FloatToHalf(value), half);
    const float next = HalfToFloat(static_cast<std::uint16_t>(half + 1));
    for (const float v : {(value + next) / 2, std::nextafter(value, 1e9F)}) {
      if (std::isnan(v)) continue;
      ASSERT_EQ(kernels::FloatToHalf(v), FloatToHalf(v)) << std::hexfloat << v;
    }
  }
}

}  // namespace
}  // namespace banyan::kernels::testing
