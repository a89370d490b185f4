#include "text/pre_tokenizer.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan::text {
namespace {

using testing::ElementsAre;

std::vector<std::string> Runs(const PreTokenizer& pre_tokenizer, std::string_view text) {
  std::vector<std::string> runs;
  const absl::Status status =
      pre_tokenizer.Split(text, [&](std::string_view run) { runs.emplace_back(run); });
  EXPECT_TRUE(status.ok()) << status;
  return runs;
}

std::vector<std::string> SmolRuns(std::string_view text) {
  static const PreTokenizer pre_tokenizer = *PreTokenizer::ForName("smollm");
  return Runs(pre_tokenizer, text);
}

TEST(PreTokenizer, UnknownNamesAreRefusedByName) {
  const auto unknown = PreTokenizer::ForName("tekken");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(
      std::string(unknown.status().message()),
      testing::AllOf(testing::HasSubstr("tokenizer.ggml.pre"), testing::HasSubstr("'tekken'")));
  EXPECT_FALSE(PreTokenizer::ForName("").ok());
}

TEST(PreTokenizer, WordsTakeTheSpaceBeforeThem) {
  EXPECT_THAT(SmolRuns("Hello brave  world!"), ElementsAre("Hello", " brave", " ", " world", "!"));
  EXPECT_THAT(SmolRuns("they're it'S"), ElementsAre("they", "'re", " it", "'", "S"));
}

TEST(PreTokenizer, DigitsStandAloneAndTakeNoSpace) {
  EXPECT_THAT(SmolRuns("a12 3\u00bd"), ElementsAre("a", "1", "2", " ", "3", "\u00bd"));
  // The last of several spaces goes to a word, but not to a digit.
  EXPECT_THAT(SmolRuns("  5  x"), ElementsAre("  ", "5", " ", " x"));
}

TEST(PreTokenizer, TheMongolianVowelSeparatorIsNoSpace) {
  EXPECT_THAT(SmolRuns("a\u180e b"), ElementsAre("a", "\u180e", " b"));
  EXPECT_THAT(SmolRuns("\u00a0\u2003\u0085x"), ElementsAre("\u00a0\u2003", "\u0085", "x"));
}

TEST(PreTokenizer, JoinedRunsAreTheText) {
  EXPECT_THAT(SmolRuns(""), ElementsAre());
  // Unassigned, private, noncharacter, and zero: every character belongs to some run.
  const std::string odd("\u0378\U000f0000\uffff\0\x1b", 11);
  std::string joined;
  for (const std::string& run : SmolRuns(odd)) joined += run;
  EXPECT_EQ(joined, odd);
}

TEST(PreTokenizer, RunsOfAMegabyteAreFoundWhole) {
  const std::string spaces(1 << 20, ' ');
  EXPECT_THAT(SmolRuns(spaces), ElementsAre(spaces));
  const std::string word(1 << 20, 'x');
  EXPECT_THAT(SmolRuns(spaces + word), ElementsAre(spaces.substr(1), " " + word));
}

TEST(PreTokenizer, OnePatternServesManyThreads) {
  const PreTokenizer pre_tokenizer = *PreTokenizer::ForName("smollm");
  std::string text;
  for (int i = 0; i < 500; ++i) text += "word " + std::to_string(i) + "  it's\n";
  const std::vector<std::string> expected = Runs(pre_tokenizer, text);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Runs(pre_tokenizer, text), expected); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace banyan::text
