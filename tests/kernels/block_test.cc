// Blocks of every tensor type: their floats against goldens of the PyPI package gguf
// (tests/kernels/oracle/make_blocks.py, which made the golden file and names its versions), and
// bytes that no quantizer would write.

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                            DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

std::string Name(const ::testing::TestParamInfo<DType>& info) {
  return std::string(ShapeOf(info.param).name);
}

// Floats as bits; every NaN is one.
constexpr std::uint32_t kNan = 0x7fc00000;
std::vector<std::uint32_t> Bits(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values)
    bits.push_back(std::isnan(value) ? kNan : std::bit_cast<std::uint32_t>(value));
  return bits;
}

// The blocks of one type in the golden file.
struct Golden {
  std::vector<std::byte> bytes;
  std::vector<std::vector<std::uint32_t>> floats;  // bits, of each block
};

std::map<std::string, Golden> ReadGoldens() {
  // Other goldens than the committed ones, freshly made by the oracle.
  const char* other = std::getenv("BANYAN_BLOCK_GOLDENS");
  const char* data = std::getenv("BANYAN_TESTDATA");
  std::ifstream file(other != nullptr  ? std::string(other)
                     : data != nullptr ? std::string(data) + "/kernels/blocks.txt"
                                       : std::string());
  EXPECT_TRUE(file.is_open()) << "BANYAN_TESTDATA must name the folder of tests";
  std::map<std::string, Golden> goldens;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string type;
    std::string word;
    words >> type >> word;
    Golden& golden = goldens[type];
    for (std::size_t i = 0; i < word.size(); i += 2)
      golden.bytes.push_back(static_cast<std::byte>(std::stoul(word.substr(i, 2), nullptr, 16)));
    std::vector<std::uint32_t>& floats = golden.floats.emplace_back();
    while (words >> word)
      floats.push_back(word == "nan" ? kNan
                                     : static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  }
  return goldens;
}

class Blocks : public ::testing::TestWithParam<DType> {
 protected:
  static const Golden& GoldenOf(DType type) {
    static const std::map<std::string, Golden> goldens = ReadGoldens();
    return goldens.at(std::string(ShapeOf(type).name));
  }
};
INSTANTIATE_TEST_SUITE_P(Types, Blocks, ::testing::ValuesIn(kTypes), Name);

TEST_P(Blocks, AreTheFloatsOfTheReferenceBitForBit) {
  const BlockShape shape = ShapeOf(GetParam());
  const Golden& golden = GoldenOf(GetParam());
  ASSERT_GE(golden.floats.size(), 7U);
  ASSERT_EQ(golden.bytes.size(), golden.floats.size() * shape.bytes);
  Row out(shape.block);
  for (std::size_t i = 0; i < golden.floats.size(); ++i) {
    DequantizeBlock(GetParam(), golden.bytes.data() + i * shape.bytes, out.data());
    EXPECT_EQ(Bits(out), golden.floats[i]) << "block " << i;
  }
  RecordProperty("blocks", static_cast<int>(golden.floats.size()));
}

TEST_P(Blocks, OfPackedRowsAreEmbeddedBitForBit) {
  // Each block is a row, and all blocks together are one: as places in a tile, and along a row.
  const BlockShape shape = ShapeOf(GetParam());
  const Golden& golden = GoldenOf(GetParam());
  const std::int64_t blocks = std::ssize(golden.floats);
  Rig rig(2);
  for (const std::int64_t rows : {blocks, std::int64_t{1}}) {
    const HostTensor host{GetParam(), rows, blocks / rows * shape.block, golden.bytes.data()};
    std::vector<std::int32_t> ids(rows);
    std::iota(ids.begin(), ids.end(), 0);
    CpuBackend::Activations x =
        rig.backend->MakeActivations(static_cast<int>(rows), static_cast<int>(host.cols));
    rig.backend->Embed(rig.backend->PackMatrix(host), ids, 1.0F, x);
    std::vector<std::uint32_t> bits;
    for (const Row& row : rig.Read(x, static_cast<int>(rows)))
      for (const std::uint32_t value : Bits(row)) bits.push_back(value);
    std::vector<std::uint32_t> expected;
    for (const auto& floats : golden.floats)
      expected.insert(expected.end(), floats.begin(), floats.end());
    EXPECT_EQ(bits, expected);
  }
}

TEST_P(Blocks, OfRandomBytesNeitherCrashNorReachOtherRows) {
  constexpr int kRows = 35;
  constexpr int kCols = 512;
  const BlockShape shape = ShapeOf(GetParam());
  const std::int64_t row_bytes = kCols / shape.block * shape.bytes;
  const RandomMatrix sane(GetParam(), kRows, kCols, 3);
  std::mt19937 random(4);
  // Every third row is random bytes: among its scales are infinities and NaN.
  std::vector<std::byte> bytes(sane.host().data, sane.host().data + kRows * row_bytes);
  for (int row = 0; row < kRows; row += 3)
    for (std::int64_t i = 0; i < row_bytes; ++i)
      bytes[row * row_bytes + i] = static_cast<std::byte>(random());

  Rig rig(2);
  rig.KeepFloats();
  const HostTensor wild{GetParam(), kRows, kCols, bytes.data()};
  CpuBackend::Input in = rig.backend->MakeInput(5, kCols);
  rig.backend->RmsNorm(rig.Load(RandomRows(5, kCols, 5)), rig.PackVector(Row(kCols, 1.0F)), 1e-5F,
                       5, in);
  const auto product = [&](const HostTensor& host, int rows) {
    CpuBackend::Activations out = rig.backend->MakeActivations(5, kRows);
    rig.backend->MatMul(rig.backend->PackMatrix(host), in, rows, out);
    return rig.Read(out, rows);
  };
  const Rows expected = product(sane.host(), 5);
  const Rows results = product(wild, 5);
  const Rows alone = product(wild, 1);
  for (int r = 0; r < 5; ++r) {
    for (int o = 0; o < kRows; ++o) {
      if (o % 3 == 0) continue;
      ASSERT_EQ(results[r][o], expected[r][o]) << "row " << r << " output " << o;
    }
  }
  EXPECT_EQ(Bits(results[0]), Bits(alone[0]));
}

}  // namespace
}  // namespace banyan::kernels::testing
