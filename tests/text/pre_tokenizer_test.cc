#include "text/pre_tokenizer.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Runs(const PreTokenizer& pre_tokenizer, std::string_view text) {
  std::vector<std::string> runs;
  pre_tokenizer.ForEachRun(text, [&](std::string_view run) { runs.emplace_back(run); });
  return runs;
}

std::vector<std::string> RunsOf(std::string_view name, std::string_view text) {
  const auto pre_tokenizer = PreTokenizer::ForName(name);
  EXPECT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.status();
  return Runs(**pre_tokenizer, text);
}

std::vector<std::string> SmolRuns(std::string_view text) { return RunsOf("smollm", text); }

TEST(PreTokenizer, UnknownNamesAreRefusedByNameAndTheKnownOnesListed) {
  const auto unknown = PreTokenizer::ForName("nonesuch");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(unknown.status().message()),
              testing::AllOf(HasSubstr("tokenizer.ggml.pre"), HasSubstr("'nonesuch'"),
                             HasSubstr("gpt-2"), HasSubstr("deepseek-v3")));
  EXPECT_FALSE(PreTokenizer::ForName("").ok());
  EXPECT_FALSE(PreTokenizer::ForName("default").ok());
}

// One line for each family: what sets it apart.
TEST(PreTokenizer, FamiliesCutAsTheirOwn) {
  EXPECT_THAT(RunsOf("gpt-2", " 12345 it'LL"), ElementsAre(" 12345", " it", "'", "LL"));
  EXPECT_THAT(RunsOf("llama-bpe", " 12345 it'LL"), ElementsAre(" ", "123", "45", " it", "'LL"));
  EXPECT_THAT(RunsOf("qwen2", " 12 it'LL"), ElementsAre(" ", "1", "2", " it", "'LL"));
  EXPECT_THAT(RunsOf("tekken", "HTMLParser/\n"), ElementsAre("HTMLParser", "/\n"));
  EXPECT_THAT(RunsOf("tekken", "parseHTML it's"), ElementsAre("parse", "HTML", " it", "'s"));
  EXPECT_THAT(RunsOf("gpt-4o", "parseHTML it's 1234"),
              ElementsAre("parse", "HTML", " it's", " ", "123", "4"));
  EXPECT_THAT(RunsOf("deepseek-llm", "a 12\n中文!"),
              ElementsAre("a", " ", "1", "2", "\n", "中文", "!"));
  EXPECT_THAT(RunsOf("deepseek-coder", "x += 1;"), ElementsAre("x", " += ", "1", ";"));
  EXPECT_THAT(RunsOf("deepseek-v3", "f(x) 1234中a"),
              ElementsAre("f", "(x", ")", " ", "123", "4", "中", "a"));
  EXPECT_THAT(RunsOf("falcon", "a 12345!?"), ElementsAre("a", " ", "123", "45", "!?"));
  EXPECT_THAT(RunsOf("qwen35", "\u0915\u093f x"), ElementsAre("\u0915\u093f", " x"));
}

TEST(PreTokenizer, FamiliesThatNormalizeCompose) {
  EXPECT_THAT(RunsOf("qwen2", "e\u0301"), ElementsAre("\u00e9"));
  EXPECT_THAT(RunsOf("command-r", "e\u0301"), ElementsAre("\u00e9"));
  EXPECT_THAT(RunsOf("llama-bpe", "e\u0301"), ElementsAre("e", "\u0301"));
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
  const auto pre_tokenizer = *PreTokenizer::ForName("smollm");
  std::string text;
  for (int i = 0; i < 500; ++i) text += "word " + std::to_string(i) + "  it's\n";
  const std::vector<std::string> expected = Runs(*pre_tokenizer, text);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Runs(*pre_tokenizer, text), expected); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace banyan::text
