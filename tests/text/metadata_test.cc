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
  for (const std::string key :
       {"tokenizer.ggml.model", "tokenizer.ggml.pre", kTokens, kTypes, kMerges}) {
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

TEST(TokenizerMetadata, SomethingEndsAnAnswer) {
  ToyMetadata metadata;
  metadata.values.erase("tokenizer.ggml.eos_token_id");
  EXPECT_THAT((*Codec::FromMetadata(metadata))->end_tokens(), ElementsAre(259, 260));
  ExpectRefused(absl::StatusCode::kInvalidArgument, "tokenizer.ggml.eos_token_id",
                [](ToyMetadata& m) {
                  m.values.erase("tokenizer.ggml.eos_token_id");
                  m.strings(kTokens)[259] = "<|x|>";
                  m.strings(kTokens)[260] = "<|y|>";
                });
}

TEST(TokenizerMetadata, UnknownKindsAreRefusedByName) {
  const auto set = [](const std::string& key, ToyMetadata::Value value) {
    return [=](ToyMetadata& metadata) { metadata.values[key] = value; };
  };
  const auto unimplemented = absl::StatusCode::kUnimplemented;
  for (const std::string kind : {"t5", "bert", "rwkv", "plamo2", "nonesuch"}) {
    ExpectRefused(unimplemented, "'" + kind + "'", set("tokenizer.ggml.model", kind));
  }
  ExpectRefused(unimplemented, "it would need the unigram model",
                set("tokenizer.ggml.model", std::string("t5")));
  ExpectRefused(unimplemented, "supported are gpt2, llama, gemma4",
                set("tokenizer.ggml.model", std::string("nonesuch")));
  ExpectRefused(unimplemented, "'nonesuch'", set("tokenizer.ggml.pre", std::string("nonesuch")));
  ExpectRefused(unimplemented, "tokenizer.ggml.add_sep_token",
                set("tokenizer.ggml.add_sep_token", true));
  ExpectRefused(unimplemented, "tokenizer.ggml.add_space_prefix",
                set("tokenizer.ggml.add_space_prefix", true));
  ExpectRefused(unimplemented, kTypes,
                [](ToyMetadata& metadata) { metadata.integers(kTypes)[3] = 6; });
}

TEST(TokenizerMetadata, AddedTokensAreThoseTheFileAsksFor) {
  ToyMetadata metadata;
  const auto added = [&](std::string_view text) {
    return *(*Codec::FromMetadata(metadata))
                ->Encode(text, ControlTokens::kRecognize, AddedTokens::kAsModelAsks);
  };
  EXPECT_THAT(added("x"), ElementsAre('x'));
  metadata.values["tokenizer.ggml.add_eos_token"] = true;
  EXPECT_THAT(added("x"), ElementsAre('x', 256));
  metadata.values["tokenizer.ggml.bos_token_id"] = std::int64_t{258};
  EXPECT_THAT(added("x"), ElementsAre('x', 256));
  metadata.values["tokenizer.ggml.add_bos_token"] = true;
  EXPECT_THAT(added("x"), ElementsAre(258, 'x', 256));
  EXPECT_THAT(added(""), ElementsAre(258, 256));
  EXPECT_THAT(added("<|im_start|>"), ElementsAre(258, 258, 256));  // as the reference does
  const auto codec = *Codec::FromMetadata(metadata);
  EXPECT_THAT(*codec->Encode("x", ControlTokens::kPlainText), ElementsAre('x'));
  // A chat: the begin-of-text token unless the template wrote it, and no end.
  const std::vector<Piece> without = {{"x", Origin::kTemplate}};
  EXPECT_THAT(*codec->Encode(without, AddedTokens::kAsModelAsks), ElementsAre(258, 'x'));
  const std::vector<Piece> with = {{"<|im_start|>x", Origin::kTemplate}};
  EXPECT_THAT(*codec->Encode(with, AddedTokens::kAsModelAsks), ElementsAre(258, 'x'));
  EXPECT_THAT(*codec->Encode(with), ElementsAre(258, 'x'));
  // A pre-tokenizer's own default, where the file has the token and does not say.
  metadata.values.erase("tokenizer.ggml.add_eos_token");
  metadata.values.erase("tokenizer.ggml.add_bos_token");
  EXPECT_THAT(added("x"), ElementsAre('x'));
  metadata.values["tokenizer.ggml.pre"] = std::string("llama-bpe");
  EXPECT_THAT(added("x"), ElementsAre(258, 'x'));
  metadata.values["tokenizer.ggml.add_bos_token"] = false;
  EXPECT_THAT(added("x"), ElementsAre('x'));
}

TEST(TokenizerMetadata, AddedTokensThatAreNotThereAreRefused) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  ExpectRefused(invalid, "tokenizer.ggml.bos_token_id",
                [](ToyMetadata& m) { m.values["tokenizer.ggml.add_bos_token"] = true; });
  ExpectRefused(invalid, "tokenizer.ggml.eos_token_id", [](ToyMetadata& m) {
    m.values.erase("tokenizer.ggml.eos_token_id");
    m.values["tokenizer.ggml.add_eos_token"] = true;
  });
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
  EXPECT_FALSE(Vocabulary::Create(none, {}, Alphabet::kBytes).ok());
  std::vector<std::string> spellings;
  for (std::size_t i = 0; i <= kMaxVocabularySize; ++i) spellings.push_back(std::to_string(i));
  const std::vector<std::string_view> views(spellings.begin(), spellings.end());
  const std::vector<std::int64_t> types(views.size(), 1);
  const auto create = [&](std::size_t size) {
    return Vocabulary::Create(std::span(views).first(size), std::span(types).first(size),
                              Alphabet::kBytes)
        .status();
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

TEST(TokenizerMetadata, TheLongestTokenAllowsForTextThatNormalizingShrinks) {
  ToyMetadata metadata;
  metadata.values["tokenizer.ggml.pre"] = std::string("qwen2");
  EXPECT_EQ((*Codec::FromMetadata(metadata))->longest_token_bytes(), 4 * 13u);
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
  EXPECT_THAT(*codec->Encode("\u0120y<ctl><unk>", ControlTokens::kRecognize),
              ElementsAre(user, control, unknown));
  EXPECT_EQ(codec->Encode("[PAD]<ctl><unk>", ControlTokens::kPlainText)->size(), 15u);
}

TEST(UserDefinedTokens, AreFoundInAnyText) {
  ToyMetadata metadata;
  metadata.strings(kTokens).push_back("<b>");
  metadata.integers(kTypes).push_back(4);
  const auto codec = *Codec::FromMetadata(metadata);
  EXPECT_THAT(*codec->Encode("a<b>b", ControlTokens::kPlainText), ElementsAre('a', 261, 'b'));
  const std::vector<Piece> pieces = {{"a<", Origin::kMessage}, {"b>", Origin::kTemplate}};
  EXPECT_THAT(*codec->Encode(pieces), ElementsAre('a', 261));
}

TEST(UserDefinedTokens, NeverTakeThePlaceOfOneThatTheTemplateWrote) {
  ToyMetadata metadata;
  for (const char* token : {"x<|im_", "d|>y"}) {
    metadata.strings(kTokens).push_back(token);
    metadata.integers(kTypes).push_back(4);
  }
  const auto codec = *Codec::FromMetadata(metadata);
  const std::vector<Piece> pieces = {
      {"x", Origin::kMessage}, {"<|im_end|>", Origin::kTemplate}, {"y", Origin::kMessage}};
  EXPECT_THAT(*codec->Encode(pieces), ElementsAre('x', 259, 'y'));
  // Where the template did not write it whole, the reference's rule: the leftmost.
  EXPECT_EQ(codec->Encode("x<|im_end|>y", ControlTokens::kPlainText)->front(), 261);
}

TEST(TokenizerMetadata, ControlTokensThatMarkReasoningHaveTheirText) {
  ToyMetadata metadata;
  for (const char* mark : {"<think>", "</think>", "<other>"}) {
    metadata.strings(kTokens).push_back(mark);
    metadata.integers(kTypes).push_back(3);
  }
  metadata.values["tokenizer.chat_template"] = std::string(
      "{% for m in messages %}{{ m.content.split('</think>')[-1] }}{% endfor %}"
      "{% if add_generation_prompt %}<think>{% endif %}");
  const auto codec = *Codec::FromMetadata(metadata);
  ASSERT_NE(codec->reasoning(), nullptr);
  EXPECT_EQ(codec->TokenBytes(261), "<think>");
  EXPECT_EQ(codec->TokenBytes(262), "</think>");
  EXPECT_EQ(codec->TokenBytes(263), "");
}

// A file may call user-defined what gives a chat its structure.
TEST(UserDefinedTokens, WithWhichAMessageCouldPassForTheTemplateAreControlTokens) {
  ToyMetadata metadata;
  const auto add = [&](const std::string& spelling) {
    metadata.strings(kTokens).push_back(spelling);
    metadata.integers(kTypes).push_back(4);
    return static_cast<TokenId>(metadata.strings(kTokens).size() - 1);
  };
  metadata.integers(kTypes)[258] = 4;  // <|im_start|>: the template writes it
  metadata.integers(kTypes)[259] = 4;  // <|im_end|>: it ends an answer too
  const TokenId called = add("<tool_call>");
  const TokenId named = add("<fim>");
  const TokenId turn = add("<start_of_turn>");
  const TokenId free = add("<free>");
  const TokenId spaces = add("\n");  // the template writes it, but it says nothing
  metadata.values["tokenizer.ggml.fim_pre_token_id"] = std::int64_t{named};
  metadata.values["tokenizer.chat_template"] = std::string(
      "{% for m in messages %}\n<|im_start|>{{ m.content }}{% if m.tool %}<tool_call>{% endif %}"
      "{% endfor %}");
  const auto codec = *Codec::FromMetadata(metadata);
  for (const TokenId id : {258, 259, called, named, turn}) {
    const std::string spelling(codec->TokenPiece(id));
    EXPECT_EQ(codec->Encode(spelling, ControlTokens::kPlainText)->size(), spelling.size());
    EXPECT_THAT(*codec->Encode(spelling, ControlTokens::kRecognize), ElementsAre(id));
    EXPECT_EQ(codec->TokenBytes(id), spelling);  // an answer that has it shows it
  }
  EXPECT_THAT(*codec->Encode("<free>\n", ControlTokens::kPlainText), ElementsAre(free, spaces));
  EXPECT_THAT(codec->end_tokens(), ElementsAre(256, 259, 260));
}

}  // namespace
}  // namespace banyan::text
