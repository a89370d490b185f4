#include "text/tokenizer_metadata.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"

namespace banyan::text {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";
constexpr std::string_view kEndKey = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kBeginKey = "tokenizer.ggml.bos_token_id";

// Control tokens that end an answer whichever of them the file names: chat models end their turn
// with the one and a text with the other. From the published tokenizers of the families that
// docs/text.md lists.
constexpr std::array<std::string_view, 11> kEndNames = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<|end_of_text|>",
    "<|end|>",
    "<|eot|>",
    "<|END_OF_TURN_TOKEN|>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
};
// ... and that begin a turn.
constexpr std::array<std::string_view, 6> kTurnNames = {
    "<|im_start|>", "<start_of_turn>", "<|start_header_id|>",
    "<|turn>",      "<|start|>",       "<|START_OF_TURN_TOKEN|>",
};

absl::Status Missing(const Metadata& metadata, std::string_view key, std::string_view type) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(key), metadata.Has(key) ? " is not " : " is missing; it must be ",
                   std::string(type)));
}

absl::StatusOr<std::optional<TokenId>> ReadTokenId(const Metadata& metadata, std::string_view key,
                                                   const Vocabulary& vocabulary) {
  if (!metadata.Has(key)) return std::nullopt;
  const std::optional<std::int64_t> id = metadata.Integer(key);
  if (!id) return Missing(metadata, key, "a token id");
  if (*id < 0 || *id >= vocabulary.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(key), " = ", *id, " is outside the vocabulary of ", vocabulary.size()));
  }
  return static_cast<TokenId>(*id);
}

bool IsControl(const Vocabulary& vocabulary, TokenId id) {
  const TokenType type = vocabulary.type(id);
  return type == TokenType::kControl || type == TokenType::kUserDefined ||
         type == TokenType::kGuarded || type == TokenType::kUnknown;
}

// A default counts where the file says nothing and its token is of a kind that has such a part.
std::optional<TokenId> Or(std::optional<TokenId> given, std::optional<TokenId> fallback,
                          const Vocabulary& vocabulary) {
  if (given || !fallback || *fallback >= vocabulary.size()) return given;
  return IsControl(vocabulary, *fallback) ? fallback : std::nullopt;
}

// Parts that only some models have; their tokens are guarded, and end an answer where told.
absl::Status ReadOtherTokens(const Metadata& metadata, const Vocabulary& vocabulary,
                             SpecialTokens& specials) {
  struct Part {
    std::string_view key;
    bool ends_answer;
  };
  for (const Part& part :
       {Part{"tokenizer.ggml.eot_token_id", true}, Part{"tokenizer.ggml.eom_token_id", true},
        Part{"tokenizer.ggml.fim_pre_token_id", false},
        Part{"tokenizer.ggml.fim_suf_token_id", false},
        Part{"tokenizer.ggml.fim_mid_token_id", false}}) {
    const auto id = ReadTokenId(metadata, part.key, vocabulary);
    if (!id.ok()) return id.status();
    if (!*id) continue;
    specials.named.push_back(**id);
    if (part.ends_answer) specials.ends.push_back(**id);
  }
  return absl::OkStatus();
}

absl::Status ReadAddedTokens(const Metadata& metadata, bool add_begin, SpecialTokens& specials) {
  const auto begin = ReadSwitch(metadata, "tokenizer.ggml.add_bos_token");
  if (!begin.ok()) return begin.status();
  const auto end = ReadSwitch(metadata, "tokenizer.ggml.add_eos_token");
  if (!end.ok()) return end.status();
  specials.add_begin = begin->value_or(add_begin && specials.begin.has_value());
  specials.add_end = end->value_or(false);
  if (specials.add_begin && !specials.begin) return Missing(metadata, kBeginKey, "a token id");
  if (specials.add_end && !specials.end) return Missing(metadata, kEndKey, "a token id");
  const auto separator = ReadSwitch(metadata, "tokenizer.ggml.add_sep_token");
  if (!separator.ok()) return separator.status();
  if (separator->value_or(false)) {
    return absl::UnimplementedError("tokenizer.ggml.add_sep_token = true is not supported");
  }
  return absl::OkStatus();
}

bool IsWhiteSpace(std::string_view spelling) {
  const std::string plain = ReplaceAll(spelling, kSpaceMark, " ");
  return plain.find_first_not_of(" \t\r\n") == std::string::npos;
}

// What the template writes around a short chat: all there is to see of a built-in one.
std::string WrittenByTemplate(const ChatTemplate& chat_template) {
  Conversation chat;
  for (const char* role : {"user", "assistant", "user"}) {
    chat.messages.push_back(boost::json::object{{"role", role}, {"content", "x"}});
  }
  const auto pieces = chat_template.Render(chat);
  std::string text;
  if (!pieces.ok()) return text;
  for (const Piece& piece : *pieces) text += piece.origin == Origin::kTemplate ? piece.text : " ";
  return text;
}

}  // namespace

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

absl::StatusOr<std::vector<double>> RequireFloats(const Metadata& metadata, std::string_view key) {
  std::optional<std::vector<double>> value = metadata.Floats(key);
  if (!value) return Missing(metadata, key, "an array of floats");
  return *std::move(value);
}

absl::StatusOr<std::optional<bool>> ReadSwitch(const Metadata& metadata, std::string_view key) {
  if (!metadata.Has(key)) return std::nullopt;
  const std::optional<bool> value = metadata.Bool(key);
  if (!value) return Missing(metadata, key, "true or false");
  return value;
}

absl::StatusOr<std::unique_ptr<Vocabulary>> ReadVocabulary(const Metadata& metadata,
                                                           Alphabet alphabet) {
  const auto spellings = RequireStrings(metadata, "tokenizer.ggml.tokens");
  if (!spellings.ok()) return spellings.status();
  constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
  const auto types = metadata.Integers(kTypesKey);
  if (!types) return Missing(metadata, kTypesKey, "an array of integers");
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::Create(*spellings, *types, alphabet);
  if (!vocabulary.ok()) return vocabulary.status();
  return std::make_unique<Vocabulary>(*std::move(vocabulary));
}

absl::StatusOr<SpecialTokens> ReadSpecialTokens(const Metadata& metadata,
                                                const Vocabulary& vocabulary,
                                                const SpecialDefaults& defaults) {
  SpecialTokens specials;
  const std::array<std::pair<std::string_view, std::optional<TokenId>*>, 7> keys = {{
      {kBeginKey, &specials.begin},
      {kEndKey, &specials.end},
      {"tokenizer.ggml.unknown_token_id", &specials.unknown},
      {"tokenizer.ggml.seperator_token_id", &specials.separator},
      {"tokenizer.ggml.padding_token_id", &specials.padding},
      {"tokenizer.ggml.cls_token_id", &specials.classification},
      {"tokenizer.ggml.mask_token_id", &specials.mask},
  }};
  for (const auto& [key, id] : keys) {
    const auto read = ReadTokenId(metadata, key, vocabulary);
    if (!read.ok()) return read.status();
    *id = *read;
  }
  specials.begin = Or(specials.begin, defaults.begin, vocabulary);
  specials.end = Or(specials.end, defaults.end, vocabulary);
  specials.unknown = Or(specials.unknown, defaults.unknown, vocabulary);
  for (const auto& [key, id] : keys) {
    if (*id) specials.named.push_back(**id);
  }
  if (specials.end) specials.ends.push_back(*specials.end);
  if (absl::Status status = ReadOtherTokens(metadata, vocabulary, specials); !status.ok()) {
    return status;
  }
  for (const std::string_view name : kEndNames) {
    const std::optional<TokenId> id = vocabulary.Find(name);
    if (id && IsControl(vocabulary, *id)) specials.ends.push_back(*id);
  }
  if (specials.ends.empty()) return Missing(metadata, kEndKey, "a token id");
  if (absl::Status status = ReadAddedTokens(metadata, defaults.add_begin, specials); !status.ok()) {
    return status;
  }
  return specials;
}

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ReadTemplate(const Metadata& metadata,
                                                                 const Vocabulary& vocabulary,
                                                                 const SpecialTokens& specials,
                                                                 const CodecOptions& options) {
  std::optional<std::string_view> from_file;
  if (metadata.Has(kTemplateKey)) {
    const auto text = RequireString(metadata, kTemplateKey);
    if (!text.ok()) return text.status();
    from_file = *text;
  }
  const auto spelling = [&](std::optional<TokenId> id) {
    return id ? std::string(vocabulary.Spelling(*id)) : std::string();
  };
  const Specials spelled = {.bos_token = spelling(specials.begin),
                            .eos_token = spelling(specials.end),
                            .unk_token = spelling(specials.unknown),
                            .sep_token = spelling(specials.separator),
                            .pad_token = spelling(specials.padding),
                            .cls_token = spelling(specials.classification),
                            .mask_token = spelling(specials.mask)};
  const auto has_control_token = [&](std::string_view token) {
    const std::optional<TokenId> id = vocabulary.Find(token);
    return id && IsControl(vocabulary, *id);
  };
  return ChatTemplate::Choose(options.chat_template, from_file, has_control_token, spelled);
}

void GuardTokens(const Metadata& metadata, const CodecOptions& options,
                 const SpecialTokens& specials, const ChatTemplate& chat_template,
                 Vocabulary& vocabulary) {
  for (const TokenId id : specials.ends) vocabulary.Guard(id);
  for (const TokenId id : specials.named) vocabulary.Guard(id);
  for (const std::string_view name : kTurnNames) {
    if (const std::optional<TokenId> id = vocabulary.Find(name)) vocabulary.Guard(*id);
  }
  const std::string written =
      absl::StrCat(options.chat_template,
                   std::string(metadata.String(kTemplateKey).value_or(std::string_view())),
                   WrittenByTemplate(chat_template));
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.type(id) != TokenType::kUserDefined) continue;
    const std::string_view spelling = vocabulary.Spelling(id);
    if (!IsWhiteSpace(spelling) && written.find(spelling) != std::string::npos) {
      vocabulary.Guard(id);
    }
  }
  if (chat_template.reasoning() == nullptr) return;
  for (const std::string& mark :
       {chat_template.reasoning()->begin, chat_template.reasoning()->end}) {
    if (const std::optional<TokenId> id = vocabulary.Find(mark)) vocabulary.GiveBytes(*id);
  }
}

}  // namespace banyan::text
