// Products and attention give the bits of the portable ones with every set of instructions.

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/variants.h"
#include "tests/kernels/attend_comparison.h"
#include "tests/kernels/variant_comparison.h"

namespace banyan::kernels::testing {
namespace {

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

// Products

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                            DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

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
  MatMulOf(ops, type)(work, 0, tiles);
  Row results = out;
  work.store = Store::kAdd;
  MatMulOf(ops, type)(work, tiles / 2, tiles);
  results.insert(results.end(), out.begin(), out.end());
  return results;
}

std::string Described(DType type, const Shape& shape) {
  return std::string(ShapeOf(type).name) + ", " + std::to_string(shape.outputs) + " x " +
         std::to_string(shape.cols) + ", rows " + std::to_string(shape.rows);
}

TEST_P(Variants, Products) {
  for (const DType type : kTypes) {
    const auto block = ShapeOf(type).block;
    for (const std::int32_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 33}) {
      const Shape odd = {33, block == 1 ? 37 : 2 * block, rows};
      const Shape single = {16, block, rows};
      for (const Shape& shape : {odd, single}) {
        SCOPED_TRACE(Described(type, shape));
        for (const Codes codes : {Codes::kRandom, Codes::kZeros, Codes::kOnes}) {
          if (block == 1 && codes != Codes::kRandom) continue;  // floats have none
          Compare([&](const Ops& ops, Source& source) {
            return Product(ops, type, shape, codes, source);
          });
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// More bytes of input than a variant takes in one group of rows.
TEST_P(Variants, ProductsOfManyWideRows) {
  for (const DType type : kTypes) {
    const Shape shape = {16, 8192, 35};
    SCOPED_TRACE(Described(type, shape));
    CompareOnce(Numbers::kUsual, 1, [&](const Ops& ops, Source& source) {
      return Product(ops, type, shape, Codes::kRandom, source);
    });
    if (HasFatalFailure()) return;
  }
}

// Tiles so long that a variant may take several of them at once.
TEST_P(Variants, ProductsOfFewRowsAndLongTiles) {
  for (const DType type : kTypes) {
    for (const std::int32_t rows : {1, 3}) {
      const Shape shape = {128, 2816, rows};
      SCOPED_TRACE(Described(type, shape));
      CompareOnce(Numbers::kUsual, 1, [&](const Ops& ops, Source& source) {
        return Product(ops, type, shape, Codes::kRandom, source);
      });
      if (HasFatalFailure()) return;
    }
  }
}

// Attention

// A chunk as pages of a format have it, of numbers of any bits that there are.
class ChunkMemory {
 public:
  ChunkMemory(KvFormat format, int head_dim, Source& source)
      : format_(format),
        row_bytes_(head_dim * LayoutOf(format).bytes),
        keys_(Numbers(source)),
        values_(Numbers(source)) {
    for (int i = 0; i < 2 * kChunkKeys; ++i) scales_.push_back(FloatToHalf(source.Next()));
  }

  // With NaN in place of keys and values that are not to be read.
  template <class F>
  ChunkTiles Tiles(const F& is_seen) {
    ChunkTiles out = {};  // no address of a tile of which none is seen
    for (int j = 0; j < kChunkKeys; ++j) {
      const int t = j / kTileKeys;
      std::byte* keys = keys_.data() + t * kTileKeys * row_bytes_;
      std::byte* values = values_.data() + t * kTileKeys * row_bytes_;
      if (is_seen(j)) {
        out.keys[t] = keys;
        out.values[t] = values;
        out.key_scales[t] = scales_.data() + t * kTileKeys;
        out.value_scales[t] = scales_.data() + kChunkKeys + t * kTileKeys;
      } else {
        Poison(keys, values, j);
      }
    }
    return out;
  }

 private:
  std::vector<std::byte> Numbers(Source& source) const {
    std::vector<std::byte> out;
    while (std::ssize(out) < std::int64_t{kChunkKeys} * row_bytes_) {
      const float x = source.Next();
      const std::uint16_t half =
          format_ == KvFormat::kBf16
              ? static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16)
              : FloatToHalf(x);
      // Any code of one byte, but those of NaN where numbers are usual.
      auto code = static_cast<std::uint8_t>(source.Bits() >> 9);
      if (source.numbers() == testing::Numbers::kUsual && (code & 0x7f) == 0x7f) --code;
      if (LayoutOf(format_).bytes == 1) {
        out.push_back(std::byte{code});
      } else {
        out.push_back(static_cast<std::byte>(half));
        out.push_back(static_cast<std::byte>(half >> 8));
      }
    }
    return out;
  }
  void Poison(std::byte* keys, std::byte* values, int j) {
    const int bytes = LayoutOf(format_).bytes;
    const int i = j % kTileKeys;
    for (int at = 0; at < row_bytes_; at += bytes)
      std::memset(keys + at * kTileKeys + i * bytes, 0xff, static_cast<std::size_t>(bytes));
    std::memset(values + i * row_bytes_, 0xff, static_cast<std::size_t>(row_bytes_));
    scales_[static_cast<std::size_t>(j)] = scales_[static_cast<std::size_t>(kChunkKeys + j)] =
        0xffff;
  }

  KvFormat format_;
  int row_bytes_;
  std::vector<std::byte> keys_;
  std::vector<std::byte> values_;
  std::vector<std::uint16_t> scales_;  // of the keys, then of the values
};

Row Chunk(const Ops& ops, KvFormat format, const Seen& seen, int head_dim, int count,
          Source& source) {
  ChunkMemory memory(format, head_dim, source);
  return Attended(
      ops, KvOpsOf(ops, format).attend, [&](const auto& is_seen) { return memory.Tiles(is_seen); },
      seen, head_dim, count, source);
}

class AttendVariants : public Variants {
 protected:
  void CompareChunks(KvFormat format, const std::vector<int>& head_dims,
                     const std::vector<int>& lasts) {
    for (const int head_dim : head_dims) {
      for (const int last : lasts) {
        for (const int queries : {1, 2, 3, 4, 5, 6, 13}) {
          SCOPED_TRACE(std::string(LayoutOf(format).name) + ", " + std::to_string(queries) +
                       " queries, " + std::to_string(last) + " keys of " +
                       std::to_string(head_dim));
          CompareChunks(format, head_dim, last, queries);
          if (HasFatalFailure()) return;
        }
      }
    }
  }

 private:
  void CompareChunks(KvFormat format, int head_dim, int last, int queries) {
    for (const int first : {0, last / 3, last - 1}) {
      for (const bool same : {true, false}) {
        Compare([&](const Ops& ops, Source& source) {
          return Chunk(ops, format, {first, last, same}, head_dim, queries, source);
        });
        if (HasFatalFailure()) return;
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, AttendVariants, ::testing::ValuesIn(AllButPortable()),
                         [](const auto& named) { return std::string(named.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AttendVariants);

TEST_P(AttendVariants, F16) {
  CompareChunks(KvFormat::kF16, {8, 24, 72}, {1, 7, 8, 9, 16, 17, 33, 63, 64});
}
TEST_P(AttendVariants, Bf16) { CompareChunks(KvFormat::kBf16, {24, 72}, {1, 16, 33, 64}); }
TEST_P(AttendVariants, Fp8) { CompareChunks(KvFormat::kFp8, {8, 72}, {1, 9, 16, 33, 64}); }
TEST_P(AttendVariants, Int8) { CompareChunks(KvFormat::kInt8, {24, 72}, {1, 9, 16, 33, 64}); }

}  // namespace
}  // namespace banyan::kernels::testing
