// Makes codecs: from the `tokenizer.*` keys of a model file, and the one without a file.
#include "text/codec.h"

#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/quote.h"
#include "text/bpe_codec.h"
#include "text/byte_alphabet.h"
#include "text/pre_tokenizer.h"
#include "text/sentencepiece.h"
#include "text/tokenizer_metadata.h"

namespace banyan::text {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPrefixKey = "tokenizer.ggml.add_space_prefix";

// What all kinds have; `parts` of the codec, but for what is behind the vocabulary.
struct Common {
  BpeCodec::Parts parts;
  std::optional<TokenId> unknown;
};

absl::StatusOr<Common> ReadCommon(const Metadata& metadata, const CodecOptions& options,
                                  Alphabet alphabet, const SpecialDefaults& defaults) {
  auto vocabulary = ReadVocabulary(metadata, alphabet);
  if (!vocabulary.ok()) return vocabulary.status();
  auto specials = ReadSpecialTokens(metadata, **vocabulary, defaults);
  if (!specials.ok()) return specials.status();
  auto chat_template = ReadTemplate(metadata, **vocabulary, *specials, options);
  if (!chat_template.ok()) return chat_template.status();
  GuardTokens(metadata, options, *specials, **chat_template, **vocabulary);
  Common common;
  common.unknown = specials->unknown;
  common.parts.longest_token_bytes = (*vocabulary)->longest_bytes();
  common.parts.vocabulary = *std::move(vocabulary);
  common.parts.chat_template = *std::move(chat_template);
  common.parts.end_tokens = std::move(specials->ends);
  if (specials->add_begin) common.parts.begin = specials->begin;
  if (specials->add_end) common.parts.end = specials->end;
  return common;
}

absl::StatusOr<std::vector<BpeMerge>> ReadMerges(const Metadata& metadata,
                                                 const Vocabulary& vocabulary) {
  constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
  const auto merges = RequireStrings(metadata, kMergesKey);
  if (!merges.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a vocabulary without merges: ", merges.status().message()));
  }
  return ParseMerges(vocabulary, *merges);
}

// `tokenizer.ggml.model` = gpt2
absl::StatusOr<std::unique_ptr<const Codec>> ByteLevel(const Metadata& metadata,
                                                       const CodecOptions& options) {
  const auto pre = RequireString(metadata, "tokenizer.ggml.pre");
  if (!pre.ok()) return pre.status();
  auto pre_tokenizer = PreTokenizer::ForName(*pre);
  if (!pre_tokenizer.ok()) return pre_tokenizer.status();
  const auto prefix = ReadSwitch(metadata, kPrefixKey);
  if (!prefix.ok()) return prefix.status();
  if (prefix->value_or(false)) {
    return absl::UnimplementedError(absl::StrCat(
        std::string(kPrefixKey), " = true is not supported for byte-level tokenizers"));
  }
  auto common = ReadCommon(metadata, options, Alphabet::kBytes,
                           {.add_begin = (*pre_tokenizer)->adds_begin()});
  if (!common.ok()) return common.status();
  BpeCodec::Parts& parts = common->parts;
  const auto merges = ReadMerges(metadata, *parts.vocabulary);
  if (!merges.ok()) return merges.status();
  parts.name = absl::StrCat("BPE (", std::string(*pre), ")");
  parts.longest_token_bytes *= (*pre_tokenizer)->most_bytes_per_byte();
  parts.bpe = std::make_unique<const Bpe>(
      *parts.vocabulary, *merges,
      Bpe::Options{.whole_runs = (*pre_tokenizer)->ignores_merges()
                                     ? Bpe::WholeRuns::kWheneverSpelled
                                     : Bpe::WholeRuns::kIfMergesLeadThere,
                   .unknown = std::nullopt});
  parts.runs = *std::move(pre_tokenizer);
  return BpeCodec::Create(std::move(parts));
}

absl::StatusOr<std::unique_ptr<const Codec>> OfCharacters(Common common,
                                                          const std::vector<BpeMerge>& merges,
                                                          SentencePieceRuns::Prefix prefix) {
  BpeCodec::Parts& parts = common.parts;
  parts.bpe = std::make_unique<const Bpe>(
      *parts.vocabulary, merges,
      Bpe::Options{.whole_runs = Bpe::WholeRuns::kIfMergesLeadThere, .unknown = common.unknown});
  parts.runs = std::make_unique<const SentencePieceRuns>(*parts.vocabulary, prefix);
  if (prefix == SentencePieceRuns::Prefix::kSpace) {
    parts.space_prefix = BpeCodec::SpacePrefix::kAdded;
  }
  return BpeCodec::Create(std::move(parts));
}

// `tokenizer.ggml.model` = llama
absl::StatusOr<std::unique_ptr<const Codec>> SentencePiece(const Metadata& metadata,
                                                           const CodecOptions& options) {
  const auto prefix = ReadSwitch(metadata, kPrefixKey);
  if (!prefix.ok()) return prefix.status();
  auto common = ReadCommon(metadata, options, Alphabet::kCharacters,
                           {.begin = 1, .end = 2, .unknown = 0, .add_begin = true});
  if (!common.ok()) return common.status();
  const auto scores = RequireFloats(metadata, "tokenizer.ggml.scores");
  if (!scores.ok()) return scores.status();
  const auto merges = MergesFromScores(*common->parts.vocabulary, *scores);
  if (!merges.ok()) return merges.status();
  common->parts.name = "SentencePiece";
  return OfCharacters(*std::move(common), *merges,
                      prefix->value_or(true) ? SentencePieceRuns::Prefix::kSpace
                                             : SentencePieceRuns::Prefix::kNone);
}

// `tokenizer.ggml.model` = gemma4: the same with a list of merges.
absl::StatusOr<std::unique_ptr<const Codec>> SentencePieceMerges(const Metadata& metadata,
                                                                 const CodecOptions& options) {
  const auto prefix = ReadSwitch(metadata, kPrefixKey);
  if (!prefix.ok()) return prefix.status();
  auto common = ReadCommon(metadata, options, Alphabet::kCharacters, {.add_begin = true});
  if (!common.ok()) return common.status();
  const auto merges = ReadMerges(metadata, *common->parts.vocabulary);
  if (!merges.ok()) return merges.status();
  common->parts.name = "SentencePiece with merges (gemma4)";
  return OfCharacters(*std::move(common), *merges,
                      prefix->value_or(false) ? SentencePieceRuns::Prefix::kSpace
                                              : SentencePieceRuns::Prefix::kNone);
}

struct Row {
  std::string_view model;
  absl::StatusOr<std::unique_ptr<const Codec>> (*make)(const Metadata&, const CodecOptions&);
};
constexpr std::array<Row, 3> kRows = {{
    {"gpt2", ByteLevel},
    {"llama", SentencePiece},
    {"gemma4", SentencePieceMerges},
}};

// Kinds that files have and Banyan does not, and what each would need.
struct Unsupported {
  std::string_view model;
  std::string_view needs;
};
constexpr std::array<Unsupported, 8> kUnsupported = {{
    {"t5", "the unigram model (the best path by scores, after a table of replaced characters)"},
    {"bert", "WordPiece (greedy matching after lower-casing and stripping of accents)"},
    {"rwkv", "greedy matching in a trie of byte strings"},
    {"plamo2", "a table-driven best path by scores"},
    {"hybriddna", "a second alphabet between <dna> and </dna>"},
    {"whitespace", "words between white space over a vocabulary of characters"},
    {"no_vocab", "a vocabulary: the file has none"},
    {"none", "a vocabulary: the file has none"},
}};

absl::Status Refuse(std::string_view model) {
  std::string message = absl::StrCat(std::string(kModelKey), " = ", Quote(model), ": ");
  std::string_view needs;
  for (const Unsupported& row : kUnsupported) {
    if (row.model == model) needs = row.needs;
  }
  if (needs.empty()) {
    absl::StrAppend(&message, "this tokenizer is not known");
  } else {
    absl::StrAppend(&message, "not supported; it would need ", std::string(needs));
  }
  absl::StrAppend(&message, "; supported are");
  for (const Row& row : kRows) {
    absl::StrAppend(&message, row.model == kRows[0].model ? " " : ", ", std::string(row.model));
  }
  return absl::UnimplementedError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Codec>> Codec::FromMetadata(const Metadata& metadata,
                                                                 const CodecOptions& options) {
  const auto model = RequireString(metadata, kModelKey);
  if (!model.ok()) return model.status();
  for (const Row& row : kRows) {
    if (row.model == *model) return row.make(metadata, options);
  }
  return Refuse(*model);
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
  absl::StatusOr<Vocabulary> made = Vocabulary::Create(views, types, Alphabet::kBytes);
  CHECK(made.ok());
  auto vocabulary = std::make_unique<const Vocabulary>(*std::move(made));
  auto bpe = std::make_unique<const Bpe>(*vocabulary, std::vector<BpeMerge>(), Bpe::Options());
  const auto id = [&](std::string_view name) { return *vocabulary->Find(name); };
  std::vector<TokenId> ends = {id("<|im_end|>"), id("<|endoftext|>")};
  const std::size_t longest = vocabulary->longest_bytes();
  auto codec = BpeCodec::Create(
      {.name = "bytes",
       .vocabulary = std::move(vocabulary),
       .bpe = std::move(bpe),
       .runs = nullptr,
       .chat_template = ChatTemplate::Default([](std::string_view) { return true; }, {}),
       .end_tokens = std::move(ends),
       .begin = std::nullopt,
       .end = std::nullopt,
       .longest_token_bytes = longest});
  CHECK(codec.ok());
  return *std::move(codec);
}

}  // namespace banyan::text
