// Models in several files: what belongs together is one model, and one clear line for what does
// not.
#include "model/split_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/model/gguf_writer.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kF32 = 0;

std::vector<std::byte> Fours(std::size_t count, std::uint8_t value) {
  return std::vector<std::byte>(4 * count, std::byte{value});
}

// A writer with the keys of a part; the tensors are the test's.
GgufWriter Part(std::uint16_t number, std::uint16_t count, std::int32_t tensors) {
  GgufWriter writer;
  if (number == 0) writer.String("general.architecture", "llama");
  writer.Scalar("split.no", GgufType::kUint16, number);
  writer.Scalar("split.count", GgufType::kUint16, count);
  writer.Scalar("split.tensors.count", GgufType::kInt32, tensors);
  return writer;
}

// Three parts with four tensors; the second has an alignment of its own.
std::vector<GgufWriter> Honest() {
  std::vector<GgufWriter> parts;
  for (std::uint16_t i = 0; i < 3; ++i) parts.push_back(Part(i, 3, 4));
  parts[1].alignment = 4096;
  parts[1].Uint32("general.alignment", 4096);
  parts[0].Tensor("a", kF32, {4}, Fours(4, 1));
  parts[1].Tensor("b", kF32, {8}, Fours(8, 2)).Tensor("c", kF32, {4}, Fours(4, 3));
  parts[2].Tensor("d", kF32, {1}, Fours(1, 4));
  return parts;
}

absl::StatusOr<std::unique_ptr<SplitFile>> Join(const std::vector<GgufWriter>& writers,
                                                std::vector<std::vector<std::byte>>& bytes) {
  std::vector<std::unique_ptr<Gguf>> parts;
  for (const GgufWriter& writer : writers) bytes.push_back(writer.Write());
  for (const auto& part : bytes) {
    auto file = Gguf::Parse(part);
    if (!file.ok()) return file.status();
    parts.push_back(*std::move(file));
  }
  return SplitFile::Join(std::move(parts));
}

template <typename... Parts>
void ExpectRefused(const absl::Status& status, StatusCode code, const Parts&... parts) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(parts)..., Not(HasSubstr("\n"))));
}

template <typename... Parts>
void ExpectRefused(const std::vector<GgufWriter>& writers, const Parts&... parts) {
  std::vector<std::vector<std::byte>> bytes;
  ExpectRefused(Join(writers, bytes).status(), StatusCode::kInvalidArgument, parts...);
}

TEST(SplitFile, IsTheFirstPartsKeysAndAllTensors) {
  std::vector<std::vector<std::byte>> bytes;
  const auto file = Join(Honest(), bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->metadata().String("general.architecture"), "llama");
  EXPECT_EQ((*file)->parts(), 3);
  EXPECT_EQ((*file)->bytes(), bytes[0].size() + bytes[1].size() + bytes[2].size());
  std::string names;
  for (const StoredTensor& tensor : (*file)->tensors()) names += tensor.name;
  EXPECT_EQ(names, "abcd");
  const StoredTensor& c = (*file)->tensors()[2];
  EXPECT_EQ(c.data.front(), std::byte{3});
  EXPECT_EQ((c.data.data() - bytes[1].data()) % 4096, 0) << "the alignment of its own part";
}

TEST(SplitFile, APartSaysItsNumberAndHowManyThereAre) {
  for (const std::size_t wrong : {0, 1, 2}) {
    const std::string name = "part " + std::to_string(wrong + 1) + " of 3";
    std::vector<GgufWriter> parts = Honest();
    parts[wrong] = Part(static_cast<std::uint16_t>(wrong == 1 ? 0 : 1), 3, 4);
    ExpectRefused(parts, name, "'split.no'", "instead of " + std::to_string(wrong));
    for (const std::uint16_t count : {2, 4}) {
      parts[wrong] = Part(static_cast<std::uint16_t>(wrong), count, 4);
      ExpectRefused(parts, name, "'split.count' is " + std::to_string(count), "instead of 3");
    }
    parts[wrong] = GgufWriter();
    ExpectRefused(parts, name, "'split.count' is missing");
    parts[wrong].Uint32("split.count", 3);
    ExpectRefused(parts, name, "'split.no' is missing");
  }
}

TEST(SplitFile, ATensorIsInOnePartOnly) {
  std::vector<GgufWriter> parts = Honest();
  parts[2].Tensor("a", kF32, {1}, Fours(1, 0));
  ExpectRefused(parts, "tensor 'a'", "in part 1 and in part 3");
}

TEST(SplitFile, TheTensorsAreAsManyAsTheFirstPartSays) {
  for (const std::int32_t total : {3, 5}) {
    std::vector<GgufWriter> parts;
    for (std::uint16_t i = 0; i < 2; ++i) parts.push_back(Part(i, 2, total));
    parts[0].Tensor("a", kF32, {1}, Fours(1, 0)).Tensor("b", kF32, {1}, Fours(1, 0));
    parts[1].Tensor("c", kF32, {1}, Fours(1, 0)).Tensor("d", kF32, {1}, Fours(1, 0));
    ExpectRefused(parts, "'split.tensors.count' is " + std::to_string(total), "4 tensors");
  }
  std::vector<GgufWriter> parts = Honest();
  parts[1] = Part(1, 3, 7);
  ExpectRefused(parts, "part 2 of 3", "'split.tensors.count' is 7", "first part");
}

TEST(SplitFile, LaterPartsHaveNoKeysOfTheirOwn) {
  std::vector<GgufWriter> parts = Honest();
  parts[2].String("general.architecture", "llama");  // the same again says nothing new
  std::vector<std::vector<std::byte>> bytes;
  EXPECT_TRUE(Join(parts, bytes).ok());

  parts = Honest();
  parts[2].String("general.architecture", "qwen2");
  ExpectRefused(parts, "part 3 of 3", "key 'general.architecture'", "another value");
  parts = Honest();
  parts[1].Scalar("general.architecture", GgufType::kUint8, std::uint8_t{1});
  ExpectRefused(parts, "part 2 of 3", "key 'general.architecture'", "another value");
  parts = Honest();
  parts[1].Uint32("z", 1).Uint32("llama.block_count", 1);
  ExpectRefused(parts, "part 2 of 3", "key 'llama.block_count'", "not in the first part");
}

TEST(SplitFile, CountsAtTheirBounds) {
  const auto parts_of = [](const std::function<void(GgufWriter&)>& add) {
    GgufWriter writer;
    add(writer);
    const auto bytes = writer.Write();
    const auto file = Gguf::Parse(bytes);
    return PartsOf(**file);
  };
  EXPECT_EQ(*parts_of([](GgufWriter&) {}), 1);
  EXPECT_EQ(*parts_of([](GgufWriter& w) { w.Uint32("split.count", 0); }), 1) << "merged again";
  EXPECT_EQ(*parts_of([](GgufWriter& w) { w.Uint32("split.count", 1); }), 1);
  EXPECT_EQ(*parts_of([](GgufWriter& w) { w.Uint32("split.count", 1023); }), 1023);
  EXPECT_EQ(*parts_of([](GgufWriter& w) { w.Uint32("split.count", 1024); }), 1024);
  ExpectRefused(parts_of([](GgufWriter& w) { w.Uint32("split.count", 1025); }).status(),
                StatusCode::kInvalidArgument, "'split.count' is 1025", "1024");
  ExpectRefused(parts_of([](GgufWriter& w) {
                  w.Scalar("split.count", GgufType::kInt32, std::int32_t{-1});
                }).status(),
                StatusCode::kInvalidArgument, "'split.count' is -1");
  ExpectRefused(parts_of([](GgufWriter& w) { w.String("split.count", "3"); }).status(),
                StatusCode::kInvalidArgument, "'split.count'", "no integer");
}

class SplitOnDisk : public ::testing::Test {
 protected:
  SplitOnDisk() { std::filesystem::create_directory(folder_); }
  ~SplitOnDisk() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::ofstream(Path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return Path(name);
  }
  // Of all three parts; the first one's path.
  std::string WriteHonest() const {
    const std::vector<GgufWriter> parts = Honest();
    Write("m-00003-of-00003.gguf", parts[2].Write());
    Write("m-00002-of-00003.gguf", parts[1].Write());
    return Write("m-00001-of-00003.gguf", parts[0].Write());
  }

  const std::string folder_ =
      ::testing::TempDir() + "banyan_split_test_" + std::to_string(::getpid());
};

TEST_F(SplitOnDisk, OpensByTheFirstPartsName) {
  const auto file = File::Open(WriteHonest());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->parts(), 3);
  for (const StoredTensor& tensor : (*file)->tensors()) {
    const std::byte before = tensor.data.front();
    (*file)->Release(tensor);
    EXPECT_EQ(tensor.data.front(), before);  // read again from its own file
  }
}

TEST_F(SplitOnDisk, OpeningALaterPartNamesTheFirst) {
  WriteHonest();
  ExpectRefused(File::Open(Path("m-00002-of-00003.gguf")).status(), StatusCode::kInvalidArgument,
                "part 2 of 3", "'m-00001-of-00003.gguf'");
  std::filesystem::rename(Path("m-00003-of-00003.gguf"), Path("last.gguf"));
  ExpectRefused(File::Open(Path("last.gguf")).status(), StatusCode::kInvalidArgument, "part 3 of 3",
                "name the first part");
}

TEST_F(SplitOnDisk, AFirstPartWithAnotherNameIsRefused) {
  const std::vector<std::byte> bytes = Honest()[0].Write();
  for (const char* name :
       {"m.gguf", "m-00001-of-00002.gguf", "m-1-of-3.gguf", "-00001-of-00003.gguf.bak"}) {
    ExpectRefused(File::Open(Write(name, bytes)).status(), StatusCode::kInvalidArgument,
                  "'split.count' is 3", "-00001-of-00003.gguf");
  }
}

TEST_F(SplitOnDisk, AMissingOrBrokenPartIsNamed) {
  const std::string first = WriteHonest();
  Write("m-00003-of-00003.gguf", Fours(4, 9));
  ExpectRefused(File::Open(first).status(), StatusCode::kInvalidArgument, "part 3 of 3",
                "'m-00003-of-00003.gguf'", "not a GGUF file");
  std::filesystem::remove(Path("m-00002-of-00003.gguf"));
  ExpectRefused(File::Open(first).status(), StatusCode::kNotFound, "part 2 of 3",
                "'m-00002-of-00003.gguf'", "No such file");
}

// The parts of a tiny model answer with the same bits as the whole.
TEST_F(SplitOnDisk, AModelInPartsIsTheSameModel) {
  const TinyModel tiny({});
  const auto count = static_cast<std::int32_t>(tiny.tensors.size());
  std::vector<GgufWriter> parts = {tiny.Settings()};
  parts[0].Uint32("split.no", 0).Uint32("split.count", 3);
  parts[0].Scalar("split.tensors.count", GgufType::kInt32, count);
  parts.push_back(Part(1, 3, count));
  parts.push_back(Part(2, 3, count));
  std::size_t next = 0;
  for (const auto& [name, tensor] : tiny.tensors) {
    parts[next++ % 3].Tensor(name, kF32, tensor.dims(), tensor.bytes);
  }
  Write("t-00002-of-00003.gguf", parts[1].Write());
  Write("t-00003-of-00003.gguf", parts[2].Write());
  auto file = File::Open(Write("t-00001-of-00003.gguf", parts[0].Write()));
  ASSERT_TRUE(file.ok()) << file.status();

  const auto logits = [](std::unique_ptr<File> of) {
    const auto model = Model::Load(std::move(of), {.kv_memory = 1 << 16});
    EXPECT_TRUE(model.ok()) << model.status();
    const std::vector<TokenId> tokens = {1, 2, 3};
    const std::vector<PageId> pages = {0};
    Batch batch;
    batch.sequences.push_back({.tokens = tokens, .pages = pages, .logits = Logits::kReturnAll});
    StepResult result;
    EXPECT_TRUE((*model)->Forward(batch, result).ok());
    return result.sequences[0].logits;
  };
  EXPECT_EQ(logits(*std::move(file)), logits(OpenBytes(tiny.Write())));
}

}  // namespace
}  // namespace banyan::model
