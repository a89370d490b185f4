#include "text/sentencepiece.h"

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/toy_metadata.h"
#include "text/codec.h"
#include "text/stream.h"

namespace banyan::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTokens[] = "tokenizer.ggml.tokens";
constexpr char kTypes[] = "tokenizer.ggml.token_type";
constexpr char kScores[] = "tokenizer.ggml.scores";

// Ids 0 to 2 are <unk>, <s>, </s>; 3 to 258 the bytes; then the pieces, the earlier the better.
ToyMetadata Toy(const std::vector<std::string>& pieces) {
  ToyMetadata metadata;
  metadata.values.clear();
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<std::int64_t> types = {2, 3, 3};
  std::vector<double> scores = {0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
    types.push_back(6);
    scores.push_back(0);
  }
  for (const std::string& piece : pieces) {
    tokens.push_back(piece);
    types.push_back(1);
    scores.push_back(-static_cast<double>(scores.size()));
  }
  metadata.values["tokenizer.ggml.model"] = std::string("llama");
  metadata.values[kTokens] = tokens;
  metadata.values[kTypes] = types;
  metadata.values[kScores] = scores;
  return metadata;
}

std::unique_ptr<const Codec> Make(const ToyMetadata& metadata) {
  auto codec = Codec::FromMetadata(metadata);
  EXPECT_TRUE(codec.ok()) << codec.status();
  return *std::move(codec);
}

std::vector<std::string> Pieces(const Codec& codec, std::string_view text) {
  std::vector<std::string> pieces;
  const std::vector<TokenId> ids = *codec.Encode(text, ControlTokens::kPlainText);
  for (const TokenId id : ids) {
    pieces.emplace_back(codec.TokenPiece(id));
  }
  return pieces;
}

TEST(SentencePiece, TheBetterScoreMergesFirst) {
  EXPECT_THAT(Pieces(*Make(Toy({"ab", "bc", "a", "b", "c", "\u2581"})), "abc"),
              ElementsAre("\u2581", "ab", "c"));
  EXPECT_THAT(Pieces(*Make(Toy({"bc", "ab", "a", "b", "c", "\u2581"})), "abc"),
              ElementsAre("\u2581", "a", "bc"));
}

TEST(SentencePiece, ASpaceStandsBeforeTheTextAndComesOffAgain) {
  const auto codec = Make(Toy({"\u2581a", "\u2581", "a"}));
  const auto ids = *codec->Encode("a a", ControlTokens::kPlainText);
  EXPECT_THAT(Pieces(*codec, "a a"), ElementsAre("\u2581a", "\u2581a"));
  EXPECT_EQ(codec->Decode(ids), "a a");
  EXPECT_THAT(Pieces(*codec, " a"), ElementsAre("\u2581", "\u2581a"));
  EXPECT_EQ(codec->Decode(*codec->Encode(" a", ControlTokens::kPlainText)), " a");
  EXPECT_THAT(Pieces(*codec, ""), ElementsAre());
  ToyMetadata without = Toy({"\u2581a", "\u2581", "a"});
  without.values["tokenizer.ggml.add_space_prefix"] = false;
  EXPECT_THAT(Pieces(*Make(without), "a a"), ElementsAre("a", "\u2581a"));
  EXPECT_EQ(Make(without)->Decode(ids), " a a");
}

TEST(SentencePiece, CharactersWithoutATokenAreTheirBytes) {
  const auto codec = Make(Toy({"\u2581", "a"}));
  EXPECT_THAT(Pieces(*codec, "a\u00e9\n"),
              ElementsAre("\u2581", "a", "<0xC3>", "<0xA9>", "<0x0A>"));
  EXPECT_EQ(codec->Decode(*codec->Encode("a\u00e9\n", ControlTokens::kPlainText)), "a\u00e9\n");
  EXPECT_EQ(codec->TokenBytes(3 + 0xC3), "\xC3");
}

TEST(SentencePiece, BytesOfACharacterStreamAsOneCharacter) {
  const auto codec = Make(Toy({"\u2581", "a"}));
  Detokenizer detokenizer(*codec);
  std::string text;
  for (const TokenId id : {259, 3 + 0xE4, 3 + 0xB8, 3 + 0xAD, 260}) {
    const std::string delta = detokenizer.Push(id);
    EXPECT_EQ(delta.empty(), id == 3 + 0xE4 || id == 3 + 0xB8);
    text += delta;
  }
  EXPECT_EQ(text + detokenizer.Finish(), " \u4e2da");
}

TEST(SentencePiece, BeginOfTextIsAddedUnlessTheFileSaysNo) {
  ToyMetadata metadata = Toy({"\u2581", "a"});
  const auto encode = [&] {
    return *Make(metadata)->Encode("a", ControlTokens::kPlainText, AddedTokens::kAsModelAsks);
  };
  EXPECT_THAT(encode(), ElementsAre(1, 259, 260));
  metadata.values["tokenizer.ggml.add_bos_token"] = false;
  metadata.values["tokenizer.ggml.add_eos_token"] = true;
  EXPECT_THAT(encode(), ElementsAre(259, 260, 2));
  EXPECT_THAT(Make(metadata)->end_tokens(), ElementsAre(2));
}

TEST(SentencePiece, WhatAFileLacksOrContradictsIsRefusedByKey) {
  const auto refused = [](const std::string& key, const std::function<void(ToyMetadata&)>& spoil) {
    ToyMetadata metadata = Toy({"\u2581", "a"});
    spoil(metadata);
    const auto codec = Codec::FromMetadata(metadata);
    EXPECT_EQ(codec.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(codec.status().message()), HasSubstr(key));
  };
  const auto scores = [](ToyMetadata & m) -> auto& {
    return std::get<std::vector<double>>(m.values[kScores]);
  };
  refused("tokenizer.ggml.scores is missing", [](ToyMetadata& m) { m.values.erase(kScores); });
  refused("tokenizer.ggml.scores", [&](ToyMetadata& m) { scores(m).pop_back(); });
  refused("score of token 7 is not a number", [&](ToyMetadata& m) { scores(m)[7] = NAN; });
  refused("token 5 has type 6 (byte), but is spelled '<0x2>'",
          [](ToyMetadata& m) { m.strings(kTokens)[5] = "<0x2>"; });
  refused("add_space_prefix",
          [](ToyMetadata& m) { m.values["tokenizer.ggml.add_space_prefix"] = std::int64_t{1}; });
  for (const std::size_t more : {0, 1}) {
    ToyMetadata metadata = Toy({"\u2581", std::string(kMaxMergedBytes + more, 'a')});
    EXPECT_EQ(Codec::FromMetadata(metadata).ok(), more == 0);
  }
}

TEST(SentencePiece, WordsAreCutApartWhereNoTokenCrosses) {
  const auto runs = [](const std::vector<std::string>& pieces, std::string_view text) {
    const ToyMetadata metadata = Toy(pieces);
    const Vocabulary vocabulary = *Vocabulary::Create(
        *metadata.Strings(kTokens), *metadata.Integers(kTypes), Alphabet::kCharacters);
    std::vector<std::string> found;
    SentencePieceRuns(vocabulary, SentencePieceRuns::Prefix::kNone)
        .ForEachRun(text, [&](std::string_view run) { found.emplace_back(run); });
    return found;
  };
  EXPECT_THAT(runs({"\u2581a"}, "a a  \u00e9 b"),
              ElementsAre("a", "\u2581a", "\u2581", "\u2581\u00e9", "\u2581b"));
  EXPECT_THAT(runs({"\u2581\u2581"}, "a a  b"), ElementsAre("a", "\u2581a", "\u2581\u2581b"));
  EXPECT_THAT(runs({"\u00e9\u2581"}, "a \u00e9 b"), ElementsAre("a", "\u2581\u00e9\u2581b"));
}

TEST(SentencePiece, ControlTokensAreNeverMadeOfText) {
  // By its parts and score "<s>" would come first.
  const auto codec = Make(Toy({"<s", "<", "s", ">", "\u2581"}));
  EXPECT_THAT(Pieces(*codec, "<s>"), ElementsAre("\u2581", "<s", ">"));
}

// The worst a request can do: a megabyte of one character, in which everything merges.
TEST(SentencePiece, AMegabyteOfOneCharacterTakesAFewStepsPerByte) {
  for (const std::string letter : {"a", "\u4e2d", "\u2581"}) {
    std::vector<std::string> pieces = {letter};
    while (pieces.back().size() < 64) pieces.push_back(pieces.back() + pieces.back());
    const ToyMetadata metadata = Toy(pieces);
    const Vocabulary vocabulary = *Vocabulary::Create(
        *metadata.Strings(kTokens), *metadata.Integers(kTypes), Alphabet::kCharacters);
    const auto merges = *MergesFromScores(vocabulary, *metadata.Floats(kScores));
    const Bpe bpe(vocabulary, merges, {.whole_runs = {}, .unknown = 0});
    std::string text;
    while (text.size() < (1 << 20)) text += letter;
    std::vector<TokenId> ids;
    BpeScratch scratch;
    bpe.Encode(text, ids, scratch);
    EXPECT_LE(ids.size(), text.size() / pieces.back().size() + 8);
    EXPECT_LE(scratch.steps(), static_cast<std::int64_t>(4 * text.size()));
    EXPECT_GE(scratch.steps(), static_cast<std::int64_t>(text.size()));
  }
}

}  // namespace
}  // namespace banyan::text
