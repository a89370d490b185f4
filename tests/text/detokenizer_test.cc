#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "gtest/gtest.h"
#include "tests/text/toy_metadata.h"
#include "text/stream.h"

namespace banyan::text {
namespace {

std::string Streamed(const Codec& codec, const std::vector<TokenId>& tokens) {
  Detokenizer detokenizer(codec);
  std::string text;
  for (const TokenId token : tokens) {
    const std::string delta = detokenizer.Push(token);
    EXPECT_EQ(FirstInvalidUtf8(delta), std::string::npos);
    text += delta;
  }
  const std::string rest = detokenizer.Finish();
  EXPECT_EQ(FirstInvalidUtf8(rest), std::string::npos);
  EXPECT_EQ(detokenizer.Finish(), "");
  return text + rest;
}

std::vector<TokenId> BytesAsTokens(std::string_view bytes) {
  std::vector<TokenId> tokens;
  for (const char c : bytes) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

TEST(Detokenizer, ACharacterComesWithItsLastByte) {
  const auto codec = Codec::ForBytes();
  Detokenizer detokenizer(*codec);
  EXPECT_EQ(detokenizer.Push('a'), "a");
  EXPECT_EQ(detokenizer.Push(0xE4), "");
  EXPECT_EQ(detokenizer.Push(0xB8), "");
  EXPECT_EQ(detokenizer.Push(0xAD), "\u4e2d");
  EXPECT_EQ(detokenizer.Push(257), "");  // a control token has no text
  EXPECT_EQ(detokenizer.Finish(), "");
}

// The Unicode standard's own examples, tables 3-8 to 3-11, and how Python's "replace" reads them.
TEST(Detokenizer, OneReplacementPerMaximalSubpart) {
  const auto codec = Codec::ForBytes();
  const std::string r = "\uFFFD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", r + r + r + r + r + "A" + r + r + "B"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", r + r + r + r + "A"},
      {"\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", r + r + r + "b" + r + "c" + r + r + "d"},
      {"a\xE4\xB8", "a" + r},
      {"\xF0\x9F\x91", r},
      {"\xE4\xE4\xB8\xAD", r + "\u4e2d"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(Streamed(*codec, BytesAsTokens(bytes)), text) << testing::PrintToString(bytes);
  }
}

// Tokens of random bytes: any split of any bytes gives the text of all bytes at once.
TEST(Detokenizer, EverySplitGivesTheSameText) {
  std::mt19937 random(3);
  const std::string alphabet("a\x80\xBF\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x91\x8D\xED\xA0\xFF", 15);
  const auto bytes_codec = Codec::ForBytes();
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (int i = 0; i < 9; ++i) bytes.push_back(alphabet[random() % alphabet.size()]);
    const std::string expected = Streamed(*bytes_codec, BytesAsTokens(bytes));
    // A vocabulary with every part of `bytes`.
    ToyMetadata metadata;
    std::map<std::string, TokenId> ids;
    auto& spellings = metadata.strings("tokenizer.ggml.tokens");
    for (std::size_t begin = 0; begin < bytes.size(); ++begin) {
      for (std::size_t length = 1; begin + length <= bytes.size(); ++length) {
        const std::string part = bytes.substr(begin, length);
        const auto id = static_cast<TokenId>(spellings.size());
        if (length == 1) ids.emplace(part, static_cast<unsigned char>(part[0]));
        if (!ids.emplace(part, id).second) continue;
        spellings.push_back(SpellBytes(part));
        metadata.integers("tokenizer.ggml.token_type").push_back(1);
      }
    }
    const auto codec = *Codec::FromMetadata(metadata);
    for (unsigned cuts = 0; cuts < 256; ++cuts) {  // every way to cut nine bytes
      std::vector<TokenId> tokens;
      std::string part;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        part.push_back(bytes[i]);
        if (i + 1 < bytes.size() && ((cuts >> i) & 1) == 0) continue;
        tokens.push_back(ids.at(std::exchange(part, {})));
      }
      ASSERT_EQ(Streamed(*codec, tokens), expected)
          << testing::PrintToString(bytes) << " cut at " << cuts;
    }
  }
}

}  // namespace
}  // namespace banyan::text
