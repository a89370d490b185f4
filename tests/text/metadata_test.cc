// What a model file says about its tokenizer: read when right, refused by key when not.
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/toy_metadata.h"
#include "text/codec.h"
#include "text/control_tokens.h"
#include "text/vocabulary.h"

namespace banyan::text {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kTokens[] = "tokenizer.ggml.tokens";
constexpr char kTypes[] = "tokenizer.ggml.token_type";
constexpr char kMerges[] = "tokenizer.ggml.merges";

void ExpectRefused(absl::StatusCode code, const std::string& key,
                   const std::function<void(ToyMetadata&)>& spoil) {
  ToyMetadata metadata;
  ASSERT_TRUE(Codec::FromMetadata(metadata).ok());
  spoil(metadata);
  const auto codec = Codec::FromMetadata(metadata);
  ASSERT_EQ(codec.status().code(), code) << codec.status();
  EXPECT_THAT(std::string(codec.status().message()), AllOf(HasSubstr(key), Not(HasSubstr("\n"))));
}

TEST(TokenizerMetadata, TheToyIsRead) {
  const auto codec = Codec::FromMetadata(ToyMetadata());
  ASSERT_TRUE(codec.ok()) << codec.status();
  EXPECT_EQ((*codec)->vocabulary_size(), 256 + 2 + 3);
  EXPECT_THAT(*(*codec)->Encode("abcab", ControlTokens::kPlainText), ElementsAre(257, 256));
}

TEST(TokenizerMetadata, EveryRequiredKeyIsMissed) {
  for (const std::string key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", kTokens, kTypes,
                                kMerges, "tokenizer.ggml.eos_token_id"}) {
    SCOPED_TRACE(key);
    ExpectRefused(absl::StatusCode::kInvalidArgument, key,
                  [&](ToyMetadata& metadata) { metadata.values.erase(key); });
  }
}

TEST(TokenizerMetadata, EveryKeyOfAnotherTypeIsRefused) {
  ToyMetadata all;
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.add_bos_token"}) {
    all.values[key] = false;
  }
  for (const auto& [key, value] : all.values) {
    SCOPED_TRACE(key);
    ExpectRefused(absl::StatusCode::kInvalidArgument, key, [&](ToyMetadata& metadata) {
      metadata.values[key] = std::holds_alternative<std::string>(value)
                                 ? ToyMetadata::Value(std::int64_t{7})
                                 : ToyMetadata::Value(std::string("seven"));
    });
  }
}

TEST(TokenizerMetadata, UnknownKindsAreRefusedByName) {
  const auto set = [](const std::string& key, ToyMetadata::Value value) {
    return [=](ToyMetadata& metadata) { metadata.values[key] = value; };
  };
  const auto unimplemented = absl::StatusCode::kUnimplemented;
  ExpectRefused(unimplemented, "'llama'", set("tokenizer.ggml.model", std::string("llama")));
  ExpectRefused(unimplemented, "'qwen2'", set("tokenizer.ggml.pre", std::string("qwen2")));
  ExpectRefused(unimplemented, "tokenizer.ggml.add_bos_token",
                set("tokenizer.ggml.add_bos_token", true));
  ExpectRefused(unimplemented, "tokenizer.ggml.add_eos_token",
                set("tokenizer.ggml.add_eos_token", true));
  ExpectRefused(unimplemented, "tokenizer.ggml.add_space_prefix",
                set("tokenizer.ggml.add_space_prefix", true));
  ExpectRefused(unimplemented, "'{{ bos_token }}'",
                set("tokenizer.chat_template", std::string("{{ bos_token }}")));
  ExpectRefused(unimplemented, "tokenizer.chat_template",
                set("tokenizer.chat_template", std::string(kSmolTemplate) + " "));
  ExpectRefused(unimplemented, kTypes,
                [](ToyMetadata& metadata) { metadata.integers(kTypes)[3] = 6; });
}

TEST(TokenizerMetadata, SwitchesThatAreOffChangeNothing) {
  ToyMetadata metadata;
  metadata.values["tokenizer.ggml.add_bos_token"] = false;
  metadata.values["tokenizer.ggml.add_space_prefix"] = false;
  EXPECT_TRUE(Codec::FromMetadata(metadata).ok());
}

TEST(TokenizerMetadata, WrongTokensAreRefused) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  ExpectRefused(invalid, kTokens, [](ToyMetadata& m) {
    m.strings(kTokens).clear();
    m.integers(kTypes).clear();
  });
  ExpectRefused(invalid, "tokens 65 and 66 are both 'A'",
                [](ToyMetadata& m) { m.strings(kTokens)[66] = "A"; });
  ExpectRefused(invalid, "token 9 is empty", [](ToyMetadata& m) { m.strings(kTokens)[9] = ""; });
  ExpectRefused(invalid, "token 9 is not UTF-8",
                [](ToyMetadata& m) { m.strings(kTokens)[9] = "a\xC3"; });
  ExpectRefused(invalid, kTypes, [](ToyMetadata& m) { m.integers(kTypes).pop_back(); });
  ExpectRefused(invalid, kTypes, [](ToyMetadata& m) { m.integers(kTypes).push_back(1); });
  for (const std::int64_t type : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-1}, INT64_MIN}) {
    ExpectRefused(invalid, kTypes, [&](ToyMetadata& m) { m.integers(kTypes)[0] = type; });
  }
}

TEST(TokenizerMetadata, TokenLengthsAreBounded) {
  const auto with_token = [](std::size_t length, std::int64_t type) {
    ToyMetadata metadata;
    metadata.strings(kTokens).push_back(std::string(length, 'x'));
    metadata.integers(kTypes).push_back(type);
    return Codec::FromMetadata(metadata).status();
  };
  EXPECT_TRUE(with_token(kMaxTokenBytes - 1, 1).ok());
  EXPECT_TRUE(with_token(kMaxTokenBytes, 1).ok());
  EXPECT_THAT(std::string(with_token(kMaxTokenBytes + 1, 1).message()), HasSubstr(kTokens));
  EXPECT_TRUE(with_token(kMaxControlTokenBytes - 1, 3).ok());
  EXPECT_TRUE(with_token(kMaxControlTokenBytes, 3).ok());
  EXPECT_THAT(std::string(with_token(kMaxControlTokenBytes + 1, 3).message()), HasSubstr(kTokens));
}

TEST(TokenizerMetadata, VocabularySizeIsBounded) {
  const std::vector<std::string_view> none;
  EXPECT_FALSE(Vocabulary::Create(none, {}).ok());
  std::vector<std::string> spellings;
  for (std::size_t i = 0; i <= kMaxVocabularySize; ++i) spellings.push_back(std::to_string(i));
  const std::vector<std::string_view> views(spellings.begin(), spellings.end());
  const std::vector<std::int64_t> types(views.size(), 1);
  const auto create = [&](std::size_t size) {
    return Vocabulary::Create(std::span(views).first(size), std::span(types).first(size)).status();
  };
  EXPECT_TRUE(create(1).ok());
  EXPECT_TRUE(create(kMaxVocabularySize - 1).ok());
  EXPECT_TRUE(create(kMaxVocabularySize).ok());
  EXPECT_EQ(create(kMaxVocabularySize + 1).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TokenizerMetadata, TokenIdsOutsideTheVocabularyAreRefused) {
  const std::int64_t size = ToyMetadata().strings(kTokens).size();
  for (const std::string key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.bos_token_id",
                                "tokenizer.ggml.padding_token_id"}) {
    for (const std::int64_t id : {std::int64_t{-1}, size, INT64_MAX}) {
      ExpectRefused(absl::StatusCode::kInvalidArgument, key,
                    [&](ToyMetadata& metadata) { metadata.values[key] = id; });
    }
    ToyMetadata metadata;
    metadata.values[key] = size - 1;
    EXPECT_TRUE(Codec::FromMetadata(metadata).ok());
  }
}

TEST(TokenizerMetadata, EndTokensAreTheNamedOneAndTheWellKnownOnes) {
  ToyMetadata metadata;  // ids 258, 259, 260: im_start, im_end, endoftext
  metadata.values["tokenizer.ggml.eos_token_id"] = std::int64_t{259};
  EXPECT_THAT((*Codec::FromMetadata(metadata))->end_tokens(), ElementsAre(259, 260));
  metadata.values["tokenizer.ggml.eos_token_id"] = std::int64_t{65};
  EXPECT_THAT((*Codec::FromMetadata(metadata))->end_tokens(), ElementsAre(65, 259, 260));
  // Under that name, but not a control token: text that anyone may write ends nothing.
  metadata.integers(kTypes)[260] = 1;
  EXPECT_THAT((*Codec::FromMetadata(metadata))->end_tokens(), ElementsAre(65, 259));
}

TEST(TokenizerMetadata, ATokenThatEndsATurnEndsTheAnswer) {
  ToyMetadata metadata;
  metadata.values["tokenizer.ggml.eot_token_id"] = std::int64_t{66};
  EXPECT_THAT((*Codec::FromMetadata(metadata))->end_tokens(), ElementsAre(66, 256, 259, 260));
}

TEST(TokenizerMetadata, TheLongestTokenIsCountedInBytesOfText) {
  ToyMetadata metadata;
  EXPECT_EQ((*Codec::FromMetadata(metadata))->longest_token_bytes(), 13u);  // <|endoftext|>
  metadata.strings(kTokens).push_back("\u0120\u0120twelve_bytes");  // the first two are spaces
  metadata.integers(kTypes).push_back(1);
  EXPECT_EQ((*Codec::FromMetadata(metadata))->longest_token_bytes(), 14u);
}

TEST(TokenizerMetadata, EachTypeHasItsBytes) {
  ToyMetadata metadata;
  const auto add = [&](const std::string& spelling, std::int64_t type) {
    metadata.strings(kTokens).push_back(spelling);
    metadata.integers(kTypes).push_back(type);
    return static_cast<TokenId>(metadata.strings(kTokens).size() - 1);
  };
  const TokenId normal = add("\u0120x", 1);
  const TokenId literal = add("\u4e2d ", 1);  // no letters of the byte alphabet
  const TokenId unknown = add("<unk>", 2);
  const TokenId control = add("<ctl>", 3);
  const TokenId user = add("\u0120y", 4);
  const TokenId unused = add("[PAD]", 5);
  const auto codec = *Codec::FromMetadata(metadata);
  EXPECT_EQ(codec->TokenBytes(normal), " x");
  EXPECT_EQ(codec->TokenBytes(literal), "\u4e2d ");
  EXPECT_EQ(codec->TokenBytes(unknown), "");
  EXPECT_EQ(codec->TokenBytes(control), "");
  EXPECT_EQ(codec->TokenBytes(user), "\u0120y");
  EXPECT_EQ(codec->TokenBytes(unused), "");
  EXPECT_EQ(codec->TokenPiece(normal), "\u0120x");
  EXPECT_EQ(codec->TokenPiece(control), "<ctl>");
  for (const TokenId outside : {-1, codec->vocabulary_size(), INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(codec->TokenBytes(outside), "");
    EXPECT_EQ(codec->TokenPiece(outside), "");
  }
  // User-defined tokens are found where control tokens are.
  EXPECT_THAT(*codec->Encode("\u0120y<ctl>", ControlTokens::kRecognize),
              ElementsAre(user, control));
  EXPECT_THAT(*codec->Encode("y", ControlTokens::kPlainText), ElementsAre('y'));
}

}  // namespace
}  // namespace banyan::text
