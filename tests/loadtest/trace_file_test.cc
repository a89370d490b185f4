// Traces as files: archives, faults of the file system, and the two that come with the project.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "tests/loadtest/trace_text.h"

namespace banyan::loadtest {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace io = boost::iostreams;

template <typename Compressor>
std::string Packed(const std::string& text) {
  std::stringstream from(text), to;
  io::filtering_streambuf<io::input> chain;
  chain.push(Compressor());
  chain.push(from);
  io::copy(chain, to);
  return to.str();
}

class TraceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              absl::StrCat("traces_", ::getpid(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

std::string ManyLines() {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&text, "{\"timestamp\":", i, ",\"input_length\":", 1 + i * 7919 % 1000, "}\n");
  }
  return text;
}

TEST_F(TraceFile, IsReadPlainAndFromArchivesByNameOrByFirstBytes) {
  const std::string text = ManyLines();
  const std::string gzip = Packed<io::gzip_compressor>(text),
                    xz = Packed<io::lzma_compressor>(text);
  for (const std::string& path : {Write("a.jsonl", text), Write("a.jsonl.gz", gzip),
                                  Write("a.jsonl.xz", xz), Write("gzip", gzip), Write("xz", xz)}) {
    const auto workload = ReadTrace(path, {});
    ASSERT_TRUE(workload.ok()) << workload.status();
    EXPECT_EQ(CountTurns(*workload), 5000) << path;
    EXPECT_EQ(workload->source, absl::StrCat("mooncake ", path));
  }
}

TEST_F(TraceFile, SeveralArchivesOneAfterAnotherAreOne) {
  const std::string text = ManyLines();
  const std::string gzip = Packed<io::gzip_compressor>(text),
                    xz = Packed<io::lzma_compressor>(text);
  EXPECT_EQ(CountTurns(*ReadTrace(Write("a.gz", gzip + gzip), {})), 10000);
  EXPECT_EQ(CountTurns(*ReadTrace(Write("a.xz", xz + xz), {})), 10000);
}

TEST_F(TraceFile, ADamagedArchiveIsRefused) {
  const std::string text = ManyLines();
  for (const auto& [name, whole] : {std::pair("a.gz", Packed<io::gzip_compressor>(text)),
                                    std::pair("a.xz", Packed<io::lzma_compressor>(text))}) {
    std::string broken = whole;
    broken[whole.size() / 2] = static_cast<char>(~broken[whole.size() / 2]);
    for (const std::string& bytes :
         {broken, whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 1),
          whole.substr(0, 5), std::string(), std::string("plain text"), whole + "and more"}) {
      const absl::Status status = ReadTrace(Write(name, bytes), kSkipBadLines).status();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("damaged or cut short"))
          << name << " of " << bytes.size() << " bytes";
    }
  }
}

TEST_F(TraceFile, WhatCannotBeOpenedIsAStatus) {
  const absl::Status missing = ReadTrace(folder() + "/none", {}).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/none"));
  const absl::Status directory = ReadTrace(folder(), {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(directory)) << directory;
  EXPECT_THAT(std::string(directory.message()), HasSubstr("is a directory"));
  if (::geteuid() == 0) return;  // who may read everything
  const std::string secret = Write("secret", "x");
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  EXPECT_TRUE(absl::IsPermissionDenied(ReadTrace(secret, {}).status()));
}

// What loadtest/traces/README.md says of them.
struct Facts {
  const char* name;
  const char* file;
  std::size_t requests;
  double mean_prompt, mean_output;
  std::int64_t max_prompt;
  std::size_t blocks, distinct_blocks;
  Tick last;
};

class PublishedTrace : public ::testing::TestWithParam<Facts> {};

TEST_P(PublishedTrace, IsReadWhole) {
  const char* const tests = std::getenv("BANYAN_TESTDATA");
  ASSERT_NE(tests, nullptr);
  const auto workload = ReadTrace(absl::StrCat(tests, "/../loadtest/traces/", GetParam().file), {});
  ASSERT_TRUE(workload.ok()) << workload.status();
  std::int64_t prompt = 0, longest = 0, output = 0;
  std::size_t blocks = 0;
  std::unordered_set<std::uint64_t> distinct;
  for (const Conversation& conversation : workload->conversations) {
    ASSERT_THAT(conversation.turns, SizeIs(1));
    const Turn& turn = conversation.turns[0];
    std::int64_t tokens = 0;
    for (const Segment& block : turn.messages[0].segments) {
      tokens += block.tokens;
      distinct.insert(block.key);
    }
    blocks += turn.messages[0].segments.size();
    prompt += tokens;
    longest = std::max(longest, tokens);
    output += turn.output_tokens;
  }
  const auto requests = static_cast<double>(GetParam().requests);
  EXPECT_THAT(workload->conversations, SizeIs(GetParam().requests));
  EXPECT_NEAR(static_cast<double>(prompt) / requests, GetParam().mean_prompt, 0.5);
  EXPECT_NEAR(static_cast<double>(output) / requests, GetParam().mean_output, 0.5);
  EXPECT_EQ(longest, GetParam().max_prompt);
  EXPECT_EQ(blocks, GetParam().blocks);
  EXPECT_EQ(distinct.size(), GetParam().distinct_blocks);
  EXPECT_EQ(workload->conversations.back().turns[0].at, GetParam().last);
  EXPECT_EQ(workload->block_tokens, 512);
  EXPECT_THAT(workload->bad_lines, SizeIs(0));
}

INSTANTIATE_TEST_SUITE_P(
    Mooncake, PublishedTrace,
    ::testing::Values(Facts{"conversation", "mooncake_conversation.jsonl.xz", 12031, 12035, 343,
                            126195, 288500, 182790, Milliseconds(3'536'999)},
                      Facts{"synthetic", "mooncake_synthetic.jsonl.xz", 3993, 15325, 149, 191378,
                            121877, 43924, Milliseconds(1'022'025)}),
    [](const ::testing::TestParamInfo<Facts>& trace) { return std::string(trace.param.name); });

}  // namespace
}  // namespace banyan::loadtest
