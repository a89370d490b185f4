// The GGUF reader: what an honest file says, and one clear line for every lie.
#include "model/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/model/gguf_writer.h"

namespace banyan::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ8_0 = 8;

std::vector<std::byte> Zeros(std::size_t size) { return std::vector<std::byte>(size); }

absl::Status ErrorOf(const std::vector<std::byte>& bytes) { return Gguf::Parse(bytes).status(); }
absl::Status ErrorOf(const GgufWriter& writer) { return ErrorOf(writer.Write()); }

// The file is refused with one line that has all of `parts`.
template <typename... Parts>
void ExpectRefused(const GgufWriter& writer, const Parts&... parts) {
  const absl::Status status = ErrorOf(writer);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(parts)..., Not(HasSubstr("\n"))));
}

GgufWriter Honest() {
  GgufWriter writer;
  writer.String("general.architecture", "llama");
  writer.Strings("tokens", {"a", "", "ccc"});
  writer.Scalar("flag", GgufType::kBool, std::uint8_t{1});
  writer.Array<float>("scores", GgufType::kFloat32, {1.0F, 2.0F});
  writer.Tensor("w", kF32, {4, 2}, Zeros(32));
  writer.Tensor("q", kQ8_0, {32}, Zeros(34));
  return writer;
}

TEST(GgufMetadata, IntegersOfEveryWidthAndSign) {
  GgufWriter writer;
  writer.Scalar("u8", GgufType::kUint8, std::uint8_t{200});
  writer.Scalar("i8", GgufType::kInt8, std::int8_t{-3});
  writer.Scalar("u16", GgufType::kUint16, std::uint16_t{65535});
  writer.Scalar("i16", GgufType::kInt16, std::int16_t{-300});
  writer.Scalar("u32", GgufType::kUint32, std::uint32_t{4000000000});
  writer.Scalar("i32", GgufType::kInt32, std::int32_t{-70000});
  writer.Scalar("u64", GgufType::kUint64, std::uint64_t{INT64_MAX});
  writer.Scalar("i64", GgufType::kInt64, std::int64_t{INT64_MIN});
  writer.Scalar("too big", GgufType::kUint64, std::uint64_t{INT64_MAX} + 1);
  const auto bytes = writer.Write();
  const auto file = Gguf::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  const Metadata& metadata = (*file)->metadata();
  EXPECT_EQ(metadata.Integer("u8"), 200);
  EXPECT_EQ(metadata.Integer("i8"), -3);
  EXPECT_EQ(metadata.Integer("u16"), 65535);
  EXPECT_EQ(metadata.Integer("i16"), -300);
  EXPECT_EQ(metadata.Integer("u32"), 4000000000);
  EXPECT_EQ(metadata.Integer("i32"), -70000);
  EXPECT_EQ(metadata.Integer("u64"), INT64_MAX);
  EXPECT_EQ(metadata.Integer("i64"), INT64_MIN);
  EXPECT_EQ(metadata.Integer("too big"), std::nullopt);
  EXPECT_TRUE(metadata.Has("too big"));
}

TEST(GgufMetadata, GettersAnswerOnlyTheirOwnType) {
  GgufWriter writer = Honest();
  writer.Scalar("f64", GgufType::kFloat64, 0.25);
  writer.Float32("f32", 1.5F);
  writer.Array<std::int32_t>("types", GgufType::kInt32, {1, -2, 3});
  writer.Array<double>("f64s", GgufType::kFloat64, {0.5, -1e300});
  writer.Array<float>("f32s", GgufType::kFloat32, {0.25F, -3.0F});
  writer.Array<std::uint8_t>("none", GgufType::kUint8, {});
  const auto bytes = writer.Write();
  const auto file = Gguf::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  const Metadata& metadata = (*file)->metadata();
  EXPECT_EQ(metadata.String("general.architecture"), "llama");
  EXPECT_EQ(metadata.Float("f64"), 0.25);
  EXPECT_EQ(metadata.Float("f32"), 1.5);
  EXPECT_EQ(metadata.Bool("flag"), true);
  EXPECT_THAT(*metadata.Strings("tokens"), ElementsAre("a", "", "ccc"));
  EXPECT_THAT(*metadata.Integers("types"), ElementsAre(1, -2, 3));
  EXPECT_THAT(*metadata.Integers("none"), ElementsAre());
  EXPECT_THAT(*metadata.Floats("f64s"), ElementsAre(0.5, -1e300));
  EXPECT_THAT(*metadata.Floats("f32s"), ElementsAre(0.25, -3.0));

  EXPECT_FALSE(metadata.Has("absent"));
  EXPECT_EQ(metadata.String("absent"), std::nullopt);
  EXPECT_EQ(metadata.String("flag"), std::nullopt);
  EXPECT_EQ(metadata.Integer("f32"), std::nullopt);
  EXPECT_EQ(metadata.Integer("flag"), std::nullopt);
  EXPECT_EQ(metadata.Integer("types"), std::nullopt);
  EXPECT_EQ(metadata.Float("flag"), std::nullopt);
  EXPECT_EQ(metadata.Bool("f32"), std::nullopt);
  EXPECT_EQ(metadata.Strings("types"), std::nullopt);
  EXPECT_EQ(metadata.Strings("general.architecture"), std::nullopt);
  EXPECT_EQ(metadata.Integers("tokens"), std::nullopt);
  EXPECT_EQ(metadata.Integers("scores"), std::nullopt);
  EXPECT_EQ(metadata.Floats("types"), std::nullopt);
  EXPECT_EQ(metadata.Floats("f32"), std::nullopt);
}

TEST(GgufTensors, AreViewsOfTheFilesBytes) {
  for (const std::size_t alignment : {8, 32, 4096}) {
    GgufWriter writer;
    writer.alignment = alignment;
    writer.Uint32("general.alignment", static_cast<std::uint32_t>(alignment));
    const std::vector<std::byte> data(32, std::byte{7});
    writer.Tensor("w", kF32, {4, 2}, data).Tensor("q", kQ8_0, {32}, Zeros(34));
    const auto bytes = writer.Write();
    const auto file = Gguf::Parse(bytes);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto tensors = (*file)->tensors();
    ASSERT_EQ(tensors.size(), 2);
    EXPECT_EQ(tensors[0].name, "w");
    EXPECT_THAT(tensors[0].dims, ElementsAre(4, 2, 1, 1));
    EXPECT_EQ(std::vector(tensors[0].data.begin(), tensors[0].data.end()), data);
    EXPECT_EQ((tensors[0].data.data() - bytes.data()) % alignment, 0);
    EXPECT_EQ(tensors[1].type, kQ8_0);
    EXPECT_EQ(tensors[1].data.size(), 34);
    EXPECT_EQ(tensors[1].data.data() + 34, bytes.data() + bytes.size());
  }
}

// Each type's block as the format's own headers define it, by its number.
TEST(GgufTensors, EveryTypeOfTheFormatHasItsNameAndSize) {
  struct Type {
    std::uint32_t number;
    const char* name;
    std::uint64_t block;
    std::size_t bytes;
  };
  constexpr Type kTypes[] = {
      {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
      {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
      {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
      {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
      {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
      {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
      {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
      {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
      {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
      {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},
      {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18},
  };
  for (const Type& type : kTypes) {
    GgufWriter exact;
    exact.Tensor("w", type.number, {type.block, 3}, Zeros(3 * type.bytes));
    EXPECT_TRUE(ErrorOf(exact).ok()) << type.name;
    EXPECT_EQ(TensorTypeName(type.number), type.name);
    GgufWriter shorter;
    shorter.Tensor("w", type.number, {type.block, 3}, Zeros(3 * type.bytes - 1));
    ExpectRefused(shorter, "'w'", "past the end");
  }
}

// Every prefix of a file is refused or, where only bytes that nobody claims are missing, parsed.
TEST(HostileGguf, TruncatedAtEveryByte) {
  const auto whole = Honest().Write();
  ASSERT_TRUE(ErrorOf(whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own, so that a read past the end is one past an allocation.
    const std::vector<std::byte> part(whole.begin(), whole.begin() + size);
    EXPECT_EQ(ErrorOf(part).code(), absl::StatusCode::kInvalidArgument) << size;
  }
}

// Every byte of a file, changed: refused or parsed, never a crash, and what parsed can be read.
TEST(HostileGguf, EveryByteChanged) {
  const auto whole = Honest().Write();
  int parsed = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned char value : {0x00, 0x01, 0x09, 0x7F, 0x80, 0xFF}) {
      std::vector<std::byte> bytes = whole;
      bytes[at] = std::byte{value};
      const auto file = Gguf::Parse(bytes);
      if (!file.ok()) continue;
      ++parsed;
      for (const char* key : {"general.architecture", "tokens", "flag", "scores"}) {
        (void)(*file)->Strings(key);
        (void)(*file)->Integers(key);
      }
    }
  }
  EXPECT_GT(parsed, 0);
}

TEST(HostileGguf, WrongHeader) {
  GgufWriter writer;
  writer.magic = "ggjt";
  ExpectRefused(writer, "not a GGUF file");
  writer.magic = "GGUF";
  for (const std::uint32_t version : {0, 4, 99}) {
    writer.version = version;
    ExpectRefused(writer, "version " + std::to_string(version));
  }
  writer.version = 1;
  ExpectRefused(writer, "version 1");
  for (const std::uint32_t version : {0x02000000, 0x03000000}) {
    writer.version = version;
    ExpectRefused(writer, "big-endian");
  }
  for (const std::uint32_t version : {2, 3}) {
    writer.version = version;
    EXPECT_TRUE(ErrorOf(writer).ok());
  }
}

TEST(HostileGguf, CountsAtTheirBounds) {
  GgufWriter writer;
  writer.extra_keys = kMaxGgufKeys;
  ExpectRefused(writer, "key 0 of 65536");  // allowed, but not there
  writer.extra_keys = kMaxGgufKeys + 1;
  ExpectRefused(writer, "65537 keys");
  writer.extra_keys = UINT64_MAX;
  ExpectRefused(writer, "keys");

  GgufWriter other;
  other.extra_tensors = kMaxGgufTensors;
  ExpectRefused(other, "tensor 0 of 65536");
  other.extra_tensors = kMaxGgufTensors + 1;
  ExpectRefused(other, "65537 tensors");

  GgufWriter full;
  for (std::uint64_t i = 0; i < kMaxGgufKeys; ++i) {
    full.Scalar(std::to_string(i), GgufType::kUint8, std::uint8_t{0});
  }
  EXPECT_TRUE(ErrorOf(full).ok());
}

TEST(HostileGguf, NamesAtTheirBounds) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{65534}, std::size_t{65535}}) {
    GgufWriter writer;
    writer.Uint32(std::string(size, 'k'), 1);
    writer.Tensor(std::string(size, 't'), kF32, {1}, Zeros(4));
    EXPECT_TRUE(ErrorOf(writer).ok()) << size;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{65536}}) {
    GgufWriter key;
    key.Uint32(std::string(size, 'k'), 1);
    ExpectRefused(key, "key 0", std::to_string(size));
    GgufWriter tensor;
    tensor.Tensor(std::string(size, 't'), kF32, {1}, Zeros(4));
    ExpectRefused(tensor, "tensor 0", std::to_string(size));
  }
}

TEST(HostileGguf, NamesAreShownOnOneLine) {
  GgufWriter writer;
  writer.Uint32("a\nb\x01", 1).Uint32("a\nb\x01", 1);
  ExpectRefused(writer, "'a\\nb\\001'", "twice");
}

TEST(HostileGguf, ValuesThatDoNotFit) {
  GgufWriter text;
  text.Key("long", GgufType::kString).Put(std::uint64_t{UINT64_MAX}).PutRaw("x");
  ExpectRefused(text, "'long'", "past the end");

  GgufWriter strings;
  strings.ArrayHeader("tokens", GgufType::kString, 3).PutString("a").PutString("b");
  ExpectRefused(strings, "'tokens'", "string 2 of 3");

  for (const std::uint64_t count : {std::uint64_t{3}, kMaxGgufElements}) {
    GgufWriter numbers;
    numbers.ArrayHeader("numbers", GgufType::kUint64, count).Put(std::uint64_t{1});
    ExpectRefused(numbers, "'numbers'", "past the end");
  }
  for (const std::uint64_t count : {kMaxGgufElements + 1, UINT64_MAX / 8 + 2, UINT64_MAX}) {
    for (const GgufType type : {GgufType::kUint64, GgufType::kString}) {
      GgufWriter claim;
      claim.ArrayHeader("claim", type, count).Put(std::uint64_t{0});
      ExpectRefused(claim, "'claim'", "claims " + std::to_string(count));
    }
  }
}

TEST(HostileGguf, UnknownTypes) {
  GgufWriter scalar;
  scalar.Key("odd", GgufType{13}).Put(std::uint64_t{0});
  ExpectRefused(scalar, "'odd'", "unknown type 13");
  GgufWriter array;
  array.ArrayHeader("odd", GgufType{77}, 1).Put(std::uint64_t{0});
  ExpectRefused(array, "'odd'", "unknown element type 77");
  GgufWriter nested;
  nested.ArrayHeader("deep", GgufType::kArray, 1).Put(GgufType::kUint8).Put(std::uint64_t{0});
  ExpectRefused(nested, "'deep'", "arrays of arrays");
  GgufWriter boolean;
  boolean.Scalar("flag", GgufType::kBool, std::uint8_t{2});
  ExpectRefused(boolean, "'flag'", "boolean");
  for (const std::uint32_t type : {43U, 63U, 64U, UINT32_MAX}) {
    GgufWriter tensor;
    tensor.Tensor("w", type, {32}, Zeros(256));
    ExpectRefused(tensor, "'w'", "unknown tensor type " + std::to_string(type),
                  "supported: F32, F16, ");
  }
  for (const auto& [type, name] :
       {std::pair{4U, "Q4_2"}, std::pair{31U, "Q4_0_4_4"}, std::pair{38U, "IQ4_NL_8_8"}}) {
    GgufWriter tensor;
    tensor.Tensor("w", type, {32}, Zeros(256));
    ExpectRefused(tensor, "'w'", name, "any more", "supported: F32, F16, ");
  }
}

TEST(HostileGguf, NamesThatAreThereTwice) {
  GgufWriter keys;
  keys.Uint32("same", 1).String("same", "x");
  ExpectRefused(keys, "key 'same'", "twice");
  GgufWriter tensors;
  tensors.Tensor("same", kF32, {1}, Zeros(4)).Tensor("same", kF32, {1}, Zeros(4));
  ExpectRefused(tensors, "tensor 'same'", "twice");
}

TEST(HostileGguf, AlignmentMustBeAPowerOfTwoOfAtLeastEight) {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 7U, 9U, 24U, UINT32_MAX}) {
    GgufWriter writer;
    writer.Uint32("general.alignment", alignment);
    ExpectRefused(writer, "general.alignment", std::to_string(alignment));
  }
  GgufWriter text;
  text.String("general.alignment", "32");
  ExpectRefused(text, "general.alignment", "not an integer");
  GgufWriter huge;
  huge.Scalar("general.alignment", GgufType::kUint64, std::uint64_t{1} << 62);
  huge.Tensor("w", kF32, {1}, Zeros(4));
  ExpectRefused(huge, "'w'", "past the end");
}

TEST(HostileGguf, Dimensions) {
  GgufWriter none;
  none.TensorHeader("w", kF32, {}, 0);
  ExpectRefused(none, "'w'", "0 dimensions");
  GgufWriter four;
  four.Tensor("w", kF32, {1, 1, 1, 2}, Zeros(8));
  EXPECT_TRUE(ErrorOf(four).ok());
  GgufWriter five;
  five.Tensor("w", kF32, {1, 1, 1, 1, 2}, Zeros(8));
  ExpectRefused(five, "'w'", "5 dimensions");
  GgufWriter zero;
  zero.Tensor("w", kF32, {4, 0}, Zeros(8));
  ExpectRefused(zero, "'w'", "dimension 1 is 0");
  for (const std::uint64_t dim : {std::uint64_t{1} << 32, UINT64_MAX}) {
    GgufWriter overflow;
    overflow.Tensor("w", kF32, {dim, dim, dim}, Zeros(8));
    ExpectRefused(overflow, "'w'", "overflow");
  }
  GgufWriter large;
  large.Tensor("w", kF32, {std::uint64_t{1} << 62}, Zeros(8));
  ExpectRefused(large, "'w'", "larger than the file");
  GgufWriter ragged;
  ragged.Tensor("w", kQ8_0, {33}, Zeros(68));
  ExpectRefused(ragged, "'w'", "33", "Q8_0");
}

TEST(HostileGguf, Offsets) {
  GgufWriter odd;
  odd.Tensor("pad", kF32, {64}, Zeros(256)).TensorHeader("w", kF32, {1}, 4);
  ExpectRefused(odd, "'w'", "offset 4", "alignment 32");
  for (const std::uint64_t offset : {std::uint64_t{256}, std::uint64_t{1} << 62}) {
    GgufWriter past;
    past.Tensor("pad", kF32, {64}, Zeros(256)).TensorHeader("w", kF32, {1}, offset);
    ExpectRefused(past, "'w'", "past the end");
  }
  GgufWriter overlap;
  overlap.Tensor("pad", kF32, {64}, Zeros(256)).TensorHeader("w", kF32, {1}, 224);
  ExpectRefused(overlap, "'w'", "overlaps", "'pad'");
}

class GgufFile : public ::testing::Test {
 protected:
  void Write(const std::vector<std::byte>& bytes) {
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_ = ::testing::TempDir() + "banyan_gguf_test_" + std::to_string(::getpid());
};

TEST_F(GgufFile, IsReadFromAMapping) {
  Write(Honest().Write());
  const auto file = File::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->metadata().String("general.architecture"), "llama");
  const StoredTensor& tensor = (*file)->tensors()[0];
  (*file)->Release(tensor);
  EXPECT_EQ(tensor.data[0], std::byte{0});  // read again from the file
}

// Whether the memory page at `at` is in this process's memory (proc(5), pagemap).
bool IsResident(const std::byte* at) {
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(map, 0);
  std::uint64_t entry = 0;
  const auto page =
      reinterpret_cast<std::uintptr_t>(at) / static_cast<std::uintptr_t>(::getpagesize());
  EXPECT_EQ(::pread(map, &entry, sizeof(entry), static_cast<off_t>(page * sizeof(entry))), 8);
  ::close(map);
  return entry >> 63 != 0;
}

TEST_F(GgufFile, ReleasedTensorsStopBeingResident) {
  GgufWriter writer;
  writer.Tensor("w", kF32, {1 << 18}, Zeros(std::size_t{1} << 20));
  Write(writer.Write());
  const auto file = File::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  const StoredTensor& tensor = (*file)->tensors()[0];
  const std::byte* const middle = tensor.data.data() + tensor.data.size() / 2;
  EXPECT_EQ(*middle, std::byte{0});
  EXPECT_TRUE(IsResident(middle));
  (*file)->Release(tensor);
  EXPECT_FALSE(IsResident(middle));
}

TEST_F(GgufFile, ErrorsSayWhatIsWrongWithTheFile) {
  EXPECT_EQ(File::Open(path_).status().code(), absl::StatusCode::kNotFound);
  Write({});
  EXPECT_THAT(std::string(File::Open(path_).status().message()), HasSubstr("empty"));
  Write(Zeros(100));
  EXPECT_THAT(std::string(File::Open(path_).status().message()), HasSubstr("not a GGUF file"));
  const absl::Status folder = File::Open(::testing::TempDir()).status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(folder.message()), HasSubstr("regular file"));
}

}  // namespace
}  // namespace banyan::model
