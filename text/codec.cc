// Makes codecs: from the `tokenizer.*` keys of a model file, and the one without a file.
#include "text/codec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/quote.h"
#include "text/byte_alphabet.h"
#include "text/byte_level_codec.h"

namespace banyan::text {
namespace {

// Keys that name a token; each must be in the vocabulary where it is given.
constexpr std::array<std::string_view, 12> kTokenIdKeys = {
    "tokenizer.ggml.bos_token_id",     "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eot_token_id",     "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.seperator_token_id",
    "tokenizer.ggml.padding_token_id", "tokenizer.ggml.cls_token_id",
    "tokenizer.ggml.mask_token_id",    "tokenizer.ggml.fim_pre_token_id",
    "tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.fim_mid_token_id",
};
constexpr std::string_view kEosKey = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kEotKey = "tokenizer.ggml.eot_token_id";

// Switches that change what is encoded, each with the one setting that is implemented.
constexpr std::array<std::string_view, 3> kSwitches = {"tokenizer.ggml.add_bos_token",
                                                       "tokenizer.ggml.add_eos_token",
                                                       "tokenizer.ggml.add_space_prefix"};

absl::Status Missing(const Metadata& metadata, std::string_view key, std::string_view type) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(key), metadata.Has(key) ? " is not " : " is missing; it must be ",
                   std::string(type)));
}

absl::StatusOr<std::string_view> RequireString(const Metadata& metadata, std::string_view key) {
  const std::optional<std::string_view> value = metadata.String(key);
  if (!value) return Missing(metadata, key, "a string");
  return *value;
}

absl::StatusOr<std::vector<std::string_view>> RequireStrings(const Metadata& metadata,
                                                             std::string_view key) {
  std::optional<std::vector<std::string_view>> value = metadata.Strings(key);
  if (!value) return Missing(metadata, key, "an array of strings");
  return *std::move(value);
}

absl::StatusOr<std::unique_ptr<const Vocabulary>> ReadVocabulary(const Metadata& metadata) {
  const auto spellings = RequireStrings(metadata, "tokenizer.ggml.tokens");
  if (!spellings.ok()) return spellings.status();
  constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
  const auto types = metadata.Integers(kTypesKey);
  if (!types) return Missing(metadata, kTypesKey, "an array of integers");
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::Create(*spellings, *types);
  if (!vocabulary.ok()) return vocabulary.status();
  return std::make_unique<const Vocabulary>(*std::move(vocabulary));
}

absl::Status CheckSwitches(const Metadata& metadata) {
  for (const std::string_view key : kSwitches) {
    if (!metadata.Has(key)) continue;
    const std::optional<bool> value = metadata.Bool(key);
    if (!value) return Missing(metadata, key, "true or false");
    if (*value) {
      return absl::UnimplementedError(
          absl::StrCat(std::string(key), " = true is not supported for byte-level tokenizers"));
    }
  }
  return absl::OkStatus();
}

// The tokens that end a text or a turn, with all other token ids checked.
absl::StatusOr<std::vector<TokenId>> ReadTokenIds(const Metadata& metadata,
                                                  std::int32_t vocabulary_size) {
  for (const std::string_view key : kTokenIdKeys) {
    if (!metadata.Has(key) && key != kEosKey) continue;
    const std::optional<std::int64_t> id = metadata.Integer(key);
    if (!id) return Missing(metadata, key, "a token id");
    if (*id < 0 || *id >= vocabulary_size) {
      return absl::InvalidArgumentError(absl::StrCat(
          std::string(key), " = ", *id, " is outside the vocabulary of ", vocabulary_size));
    }
  }
  std::vector<TokenId> ends = {static_cast<TokenId>(*metadata.Integer(kEosKey))};
  if (const auto turn = metadata.Integer(kEotKey)) ends.push_back(static_cast<TokenId>(*turn));
  return ends;
}

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ReadTemplate(const Metadata& metadata,
                                                                 const Vocabulary& vocabulary,
                                                                 const CodecOptions& options) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  std::optional<std::string_view> from_file;
  if (metadata.Has(kKey)) {
    const auto text = RequireString(metadata, kKey);
    if (!text.ok()) return text.status();
    from_file = *text;
  }
  const auto spelling = [&](std::string_view key) {
    const std::optional<std::int64_t> id = metadata.Integer(key);
    return id ? std::string(vocabulary.Spelling(static_cast<TokenId>(*id))) : std::string();
  };
  const Specials specials = {.bos_token = spelling("tokenizer.ggml.bos_token_id"),
                             .eos_token = spelling("tokenizer.ggml.eos_token_id"),
                             .unk_token = spelling("tokenizer.ggml.unknown_token_id"),
                             .sep_token = spelling("tokenizer.ggml.seperator_token_id"),
                             .pad_token = spelling("tokenizer.ggml.padding_token_id"),
                             .cls_token = spelling("tokenizer.ggml.cls_token_id"),
                             .mask_token = spelling("tokenizer.ggml.mask_token_id")};
  const auto has_control_token = [&](std::string_view token) {
    return vocabulary.Find(token, TokenType::kControl) ||
           vocabulary.Find(token, TokenType::kUserDefined);
  };
  return ChatTemplate::Choose(options.chat_template, from_file, has_control_token, specials);
}

absl::StatusOr<std::unique_ptr<const Codec>> ByteLevelFromMetadata(const Metadata& metadata,
                                                                   const CodecOptions& options) {
  const auto pre = RequireString(metadata, "tokenizer.ggml.pre");
  if (!pre.ok()) return pre.status();
  absl::StatusOr<PreTokenizer> pre_tokenizer = PreTokenizer::ForName(*pre);
  if (!pre_tokenizer.ok()) return pre_tokenizer.status();
  if (absl::Status status = CheckSwitches(metadata); !status.ok()) return status;
  auto vocabulary = ReadVocabulary(metadata);
  if (!vocabulary.ok()) return vocabulary.status();
  auto end_tokens = ReadTokenIds(metadata, (*vocabulary)->size());
  if (!end_tokens.ok()) return end_tokens.status();
  const auto merges = RequireStrings(metadata, "tokenizer.ggml.merges");
  if (!merges.ok()) return merges.status();
  auto chat_template = ReadTemplate(metadata, **vocabulary, options);
  if (!chat_template.ok()) return chat_template.status();
  return ByteLevelCodec::Create({.vocabulary = *std::move(vocabulary),
                                 .merges = *merges,
                                 .pre_tokenizer = *std::move(pre_tokenizer),
                                 .chat_template = *std::move(chat_template),
                                 .end_tokens = *std::move(end_tokens)});
}

struct Row {
  std::string_view model;  // as in `tokenizer.ggml.model`
  absl::StatusOr<std::unique_ptr<const Codec>> (*make)(const Metadata&, const CodecOptions&);
};

constexpr std::array<Row, 1> kRows = {{
    {"gpt2", ByteLevelFromMetadata},
}};

}  // namespace

absl::StatusOr<std::unique_ptr<const Codec>> Codec::FromMetadata(const Metadata& metadata,
                                                                 const CodecOptions& options) {
  const auto model = RequireString(metadata, "tokenizer.ggml.model");
  if (!model.ok()) return model.status();
  for (const Row& row : kRows) {
    if (row.model == *model) return row.make(metadata, options);
  }
  return absl::UnimplementedError(
      absl::StrCat("tokenizer.ggml.model = ", Quote(*model), ": this tokenizer is not known"));
}

std::unique_ptr<const Codec> Codec::ForBytes() {
  std::vector<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    spellings.push_back(SpellBytes({&c, 1}));
  }
  std::vector<std::int64_t> types(spellings.size(), static_cast<std::int64_t>(TokenType::kNormal));
  for (const char* control : {"<|im_start|>", "<|im_end|>", "<|endoftext|>"}) {
    spellings.push_back(control);
    types.push_back(static_cast<std::int64_t>(TokenType::kControl));
  }
  const std::vector<std::string_view> views(spellings.begin(), spellings.end());
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::Create(views, types);
  CHECK(vocabulary.ok());
  auto codec = ByteLevelCodec::Create(
      {.vocabulary = std::make_unique<const Vocabulary>(*std::move(vocabulary)),
       .merges = {},
       .pre_tokenizer = std::nullopt,
       .chat_template = ChatTemplate::Default([](std::string_view) { return true; }, {}),
       .end_tokens = {}});
  CHECK(codec.ok());
  return *std::move(codec);
}

}  // namespace banyan::text
