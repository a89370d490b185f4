#include "text/bpe.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/toy_metadata.h"

namespace banyan::text {
namespace {

using testing::ElementsAre;

// A vocabulary of all bytes and the results of `merges`.
struct Toy {
  explicit Toy(const std::vector<std::string>& list) : metadata(list, {}), merges(list) {
    const auto spellings = *metadata.Strings("tokenizer.ggml.tokens");
    const auto types = *metadata.Integers("tokenizer.ggml.token_type");
    vocabulary =
        std::make_unique<Vocabulary>(*Vocabulary::Create(spellings, types, Alphabet::kBytes));
    const std::vector<std::string_view> views(merges.begin(), merges.end());
    bpe = std::make_unique<Bpe>(*vocabulary, *ParseMerges(*vocabulary, views), Bpe::Options());
  }

  std::vector<std::string> Encode(std::string_view run) const {
    std::vector<TokenId> ids;
    BpeScratch scratch;
    bpe->Encode(run, ids, scratch);
    std::vector<std::string> spellings;
    for (const TokenId id : ids) spellings.emplace_back(vocabulary->Spelling(id));
    return spellings;
  }

  // The definition, word for word: again and again the leftmost pair of the smallest rank.
  std::vector<std::string> EncodeNaively(std::string_view run) const {
    std::map<std::pair<std::string, std::string>, std::size_t> ranks;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const std::size_t space = merges[i].find(' ');
      ranks[{merges[i].substr(0, space), merges[i].substr(space + 1)}] = i;
    }
    std::vector<std::string> parts;
    for (const char c : run) parts.push_back(SpellBytes({&c, 1}));
    while (true) {
      std::size_t best = parts.size();
      std::size_t best_rank = merges.size();
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto rank = ranks.find({parts[i], parts[i + 1]});
        if (rank == ranks.end() || rank->second >= best_rank) continue;
        best = i;
        best_rank = rank->second;
      }
      if (best == parts.size()) return parts;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
  }

  ToyMetadata metadata;
  std::vector<std::string> merges;
  std::unique_ptr<Vocabulary> vocabulary;
  std::unique_ptr<Bpe> bpe;
};

TEST(Bpe, TheEarlierMergeWinsThenTheLeftmost) {
  const Toy toy({"b c", "a b", "a a"});
  EXPECT_THAT(toy.Encode("abc"), ElementsAre("a", "bc"));
  EXPECT_THAT(toy.Encode("aaa"), ElementsAre("aa", "a"));
  EXPECT_THAT(toy.Encode(""), ElementsAre());
  EXPECT_THAT(toy.Encode("x"), ElementsAre("x"));
}

TEST(Bpe, ARunSpelledLikeATokenIsNotThatTokenUnlessMergesLeadThere) {
  // "abc" is in the vocabulary by "ab c", but "b c" comes first and leaves nothing to merge.
  const Toy toy({"b c", "a b", "ab c"});
  EXPECT_THAT(toy.Encode("abc"), ElementsAre("a", "bc"));
}

TEST(Bpe, BytesWithoutATokenAreLeftOutAndTheirNeighboursMeet) {
  ToyMetadata metadata({"a b"}, {});
  metadata.strings("tokenizer.ggml.tokens")[0x04] = "unused";
  const auto spellings = *metadata.Strings("tokenizer.ggml.tokens");
  const auto types = *metadata.Integers("tokenizer.ggml.token_type");
  const Vocabulary vocabulary = *Vocabulary::Create(spellings, types, Alphabet::kBytes);
  const std::vector<std::string_view> merges = {"a b"};
  const Bpe bpe(vocabulary, *ParseMerges(vocabulary, merges), Bpe::Options());
  for (const std::size_t copies : {std::size_t{1}, Bpe::kScanLimit}) {  // scan and queue
    std::vector<TokenId> ids;
    BpeScratch scratch;
    bpe.Encode("a" + std::string(copies, '\x04') + "b\x04", ids, scratch);
    EXPECT_THAT(ids, ElementsAre(256)) << copies;
  }
}

TEST(Bpe, ScanAndQueueFollowTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    // Merges over two letters, each of two tokens that exist by then.
    std::vector<std::string> tokens = {"a", "b"};
    std::vector<std::string> merges;
    for (int i = 0; i < 12; ++i) {
      const std::string left = tokens[random() % tokens.size()];
      const std::string right = tokens[random() % tokens.size()];
      if (std::find(tokens.begin(), tokens.end(), left + right) != tokens.end()) continue;
      tokens.push_back(left + right);
      merges.push_back(left + " " + right);
    }
    std::shuffle(merges.begin(), merges.end(), random);
    const Toy toy(merges);
    for (std::size_t length : {1u, 2u, 5u, 17u, 31u, 32u, 33u, 34u, 70u, 200u}) {
      std::string run;
      while (run.size() < length) run.push_back(random() % 3 == 0 ? 'b' : 'a');
      ASSERT_EQ(toy.Encode(run), toy.EncodeNaively(run)) << run;
    }
  }
}

// The worst a request can do: one run of a megabyte in which everything merges with everything.
TEST(Bpe, AMegabyteOfOneCharacterTakesAFewStepsPerByte) {
  std::vector<std::string> merges;
  for (std::size_t length = 1; length <= 64; length *= 2) {
    merges.push_back(std::string(length, 'a') + " " + std::string(length, 'a'));
  }
  const Toy toy(merges);
  constexpr std::size_t kLength = (1 << 20) + 5;
  std::vector<TokenId> ids;
  BpeScratch scratch;
  toy.bpe->Encode(std::string(kLength, 'a'), ids, scratch);
  EXPECT_EQ(ids.size(), kLength / 128 + 2);  // 128 each, then 4 and 1
  EXPECT_LE(scratch.steps(), static_cast<std::int64_t>(4 * kLength));
  EXPECT_GE(scratch.steps(), static_cast<std::int64_t>(kLength));
}

TEST(Bpe, OfSeveralMergesOfOnePairTheLastCounts) {
  // As in the reference: the second "a b" comes after "b c".
  const Toy once({"a b", "b c"});
  EXPECT_THAT(once.Encode("abc"), ElementsAre("ab", "c"));
  const std::vector<std::string_view> merges = {"a b", "b c", "a b"};
  const Bpe twice(*once.vocabulary, *ParseMerges(*once.vocabulary, merges), Bpe::Options());
  std::vector<TokenId> ids;
  BpeScratch scratch;
  twice.Encode("abc", ids, scratch);
  EXPECT_THAT(ids, ElementsAre('a', 257));
}

TEST(Bpe, RunsSpelledLikeTokensAreThoseTokensWhereMergesAreIgnored) {
  const Toy toy({"b c", "a b", "ab c"});
  const std::vector<std::string_view> views(toy.merges.begin(), toy.merges.end());
  const Bpe bpe(*toy.vocabulary, *ParseMerges(*toy.vocabulary, views),
                {.whole_runs = Bpe::WholeRuns::kWheneverSpelled, .unknown = std::nullopt});
  std::vector<TokenId> ids;
  BpeScratch scratch;
  bpe.Encode("abc", ids, scratch);
  bpe.Encode("abcabc", ids, scratch);
  EXPECT_THAT(ids, ElementsAre(258, 'a', 256, 'a', 256));
}

TEST(Bpe, ARunThatComesAgainBecomesTheSame) {
  const Toy toy({"a b"});
  std::vector<TokenId> ids;
  BpeScratch scratch;
  for (int i = 0; i < 500; ++i) {
    ids.clear();
    toy.bpe->Encode("xabab", ids, scratch);
    ASSERT_THAT(ids, ElementsAre('x', 256, 256));
    ids.clear();
    const std::string other = std::to_string(i);
    toy.bpe->Encode(other, ids, scratch);
    ASSERT_EQ(ids.size(), other.size());
  }
}

TEST(Bpe, ShortRunsCostAtMostTheirLengthPerByte) {
  const Toy toy({"a a", "aa aa"});
  BpeScratch scratch;
  std::vector<TokenId> ids;
  toy.bpe->Encode(std::string(Bpe::kScanLimit, 'a'), ids, scratch);
  EXPECT_LE(scratch.steps(), static_cast<std::int64_t>(Bpe::kScanLimit * Bpe::kScanLimit));
}

TEST(Bpe, WrongMergesAreRefusedByEntry) {
  const auto refuse = [](std::vector<std::string_view> merges) {
    ToyMetadata metadata({"a b"}, {"<|x|>", "xy"});
    const auto spellings = *metadata.Strings("tokenizer.ggml.tokens");
    const auto types = *metadata.Integers("tokenizer.ggml.token_type");
    const Vocabulary vocabulary = *Vocabulary::Create(spellings, types, Alphabet::kBytes);
    const auto parsed = ParseMerges(vocabulary, merges);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(parsed.status().message()),
        testing::HasSubstr("tokenizer.ggml.merges: entry " + std::to_string(merges.size() - 1)));
  };
  refuse({"ab"});
  refuse({""});
  refuse({" "});
  refuse({"a "});
  refuse({" b"});
  refuse({"a b c"});
  refuse({"a  b"});
  refuse({"a b", "a \u4e2d"});  // no such token
  refuse({"b a"});              // no such result
  refuse({"x y"});              // makes a control token out of a message's text
}

}  // namespace
}  // namespace banyan::text
