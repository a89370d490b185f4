#include "loadtest/client/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace banyan::loadtest {
namespace {

std::string TextOf(const Vocabulary& vocabulary, std::uint64_t key, std::int32_t tokens) {
  std::string text;
  vocabulary.Append({key, tokens}, text);
  return text;
}

std::vector<std::string> SixteenLetters() {
  std::vector<std::string> pieces;
  for (char c = 'a'; c < 'a' + 16; ++c) pieces.emplace_back(1, c);
  return pieces;
}

TEST(Vocabulary, CandidatesAreShortLowerCaseAndDistinct) {
  const auto& words = CandidateWords();
  EXPECT_GE(words.size(), 256u);
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
  for (const std::string& word : words) {
    EXPECT_LE(word.size(), 9u) << word;
    EXPECT_TRUE(std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::islower(c) != 0;
    })) << word;
  }
}

TEST(Vocabulary, EqualKeysAreEqualTextAndShorterOnesBeginLongerOnes) {
  const Vocabulary vocabulary;
  const std::string text = TextOf(vocabulary, 7, 100);
  EXPECT_EQ(TextOf(vocabulary, 7, 100), text);
  for (const std::int32_t tokens : {1, 2, 99}) {
    EXPECT_TRUE(text.starts_with(TextOf(vocabulary, 7, tokens)));
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 100);
}

TEST(Vocabulary, KeysThatAreCloseShareNothing) {
  const Vocabulary vocabulary(SixteenLetters(), true);
  std::set<std::string> texts;
  for (std::uint64_t key = 0; key < 1000; ++key) texts.insert(TextOf(vocabulary, key, 16));
  EXPECT_EQ(texts.size(), 1000u);
  // Nor is one the other, shifted: what a counter as a seed would give.
  const std::string first = TextOf(vocabulary, 1, 64);
  for (std::uint64_t key = 2; key < 100; ++key) {
    EXPECT_EQ(first.find(TextOf(vocabulary, key, 16)), std::string::npos);
  }
}

TEST(Vocabulary, EveryPieceIsUsedAboutAsOften) {
  const Vocabulary vocabulary(SixteenLetters(), true);
  const std::string text = TextOf(vocabulary, 3, 16000);
  for (const std::string& piece : SixteenLetters()) {
    const auto count = std::count(text.begin(), text.end(), piece[0]);
    EXPECT_GT(count, 800) << piece;
    EXPECT_LT(count, 1200) << piece;
  }
}

TEST(Vocabulary, AMessageIsItsTextOrItsSegments) {
  const Vocabulary vocabulary;
  Message message;
  message.text = "Hello";
  EXPECT_EQ(vocabulary.Text(message), "Hello");
  message.text.clear();
  message.segments = {{1, 3}, {2, 2}};
  EXPECT_EQ(vocabulary.Text(message), TextOf(vocabulary, 1, 3) + TextOf(vocabulary, 2, 2));
}

TEST(VocabularyDeathTest, SixteenPiecesAreTheLeast) {
  std::vector<std::string> pieces = SixteenLetters();
  EXPECT_EQ(Vocabulary(pieces, true).size(), 16u);
  pieces.push_back("z");
  EXPECT_EQ(Vocabulary(pieces, true).size(), 17u);
  pieces.resize(15);
  EXPECT_DEATH(Vocabulary(pieces, true), "CHECK");
}

}  // namespace
}  // namespace banyan::loadtest
