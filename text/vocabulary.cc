#include "text/vocabulary.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"

namespace banyan::text {
namespace {

constexpr char kTokensKey[] = "tokenizer.ggml.tokens";
constexpr char kTypesKey[] = "tokenizer.ggml.token_type";

absl::Status CheckSpelling(std::string_view spelling, std::size_t id) {
  if (spelling.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(kTokensKey, ": token ", id, " is empty"));
  }
  if (spelling.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(absl::StrCat(kTokensKey, ": token ", id, " has ",
                                                   spelling.size(), " bytes, more than ",
                                                   kMaxTokenBytes));
  }
  if (FirstInvalidUtf8(spelling) != std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(kTokensKey, ": token ", id, " is not UTF-8: ", Quote(spelling)));
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenType> CheckType(std::int64_t type, std::size_t id, Alphabet alphabet) {
  if (type < static_cast<std::int64_t>(TokenType::kNormal) ||
      type > static_cast<std::int64_t>(TokenType::kByte)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kTypesKey, ": token ", id, " has type ", type, ", known are 1 to 6"));
  }
  if (type == static_cast<std::int64_t>(TokenType::kByte) && alphabet == Alphabet::kBytes) {
    return absl::UnimplementedError(absl::StrCat(
        kTypesKey, ": token ", id, " has type 6 (byte), which byte-level vocabularies do not use"));
  }
  return static_cast<TokenType>(type);
}

// The byte of "<0x0A>", in the one form that is used.
std::optional<char> ByteOfSpelling(std::string_view spelling) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') return {};
  const std::size_t high = kDigits.find(spelling[3]);
  const std::size_t low = kDigits.find(spelling[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return {};
  return static_cast<char>(high * 16 + low);
}

// A normal token whose spelling leaves the byte alphabet stands for that spelling, as in the
// reference library's decoder.
std::string BytesOfToken(std::string_view spelling, TokenType type, Alphabet alphabet) {
  const bool has_text = type == TokenType::kNormal || type == TokenType::kUserDefined;
  if (alphabet == Alphabet::kCharacters) {
    if (type == TokenType::kByte) return std::string(1, *ByteOfSpelling(spelling));
    return has_text ? ReplaceAll(spelling, kSpaceMark, " ") : std::string();
  }
  if (!has_text) return {};
  if (type == TokenType::kUserDefined) return std::string(spelling);
  return BytesOfSpelling(spelling).value_or(std::string(spelling));
}

}  // namespace

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string replaced;
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, done)) {
    replaced.append(text, done, at - done);
    replaced.append(to);
    done = at + from.size();
  }
  replaced.append(text, done);
  return replaced;
}

void Vocabulary::Arena::Reserve(std::size_t strings, std::size_t bytes) {
  ends_.reserve(strings + 1);
  chars_.reserve(bytes);
}

void Vocabulary::Arena::Add(std::string_view text) {
  chars_.insert(chars_.end(), text.begin(), text.end());
  ends_.push_back(chars_.size());
}

absl::StatusOr<Vocabulary> Vocabulary::Create(std::span<const std::string_view> spellings,
                                              std::span<const std::int64_t> types,
                                              Alphabet alphabet) {
  if (spellings.empty() || spellings.size() > kMaxVocabularySize) {
    return absl::InvalidArgumentError(absl::StrCat(kTokensKey, ": ", spellings.size(),
                                                   " tokens, expected 1 to ", kMaxVocabularySize));
  }
  if (types.size() != spellings.size()) {
    return absl::InvalidArgumentError(absl::StrCat(kTypesKey, ": ", types.size(), " entries, but ",
                                                   kTokensKey, " has ", spellings.size()));
  }
  Vocabulary vocabulary;
  vocabulary.alphabet_ = alphabet;
  std::size_t total = 0;
  for (const std::string_view spelling : spellings) total += spelling.size();
  vocabulary.spellings_.Reserve(spellings.size(), total);
  vocabulary.bytes_.Reserve(spellings.size(), total);
  vocabulary.types_.reserve(spellings.size());
  for (std::size_t id = 0; id < spellings.size(); ++id) {
    if (absl::Status status = vocabulary.Add(spellings[id], types[id]); !status.ok()) return status;
  }
  if (absl::Status status = vocabulary.Index(); !status.ok()) return status;
  return vocabulary;
}

absl::Status Vocabulary::Add(std::string_view spelling, std::int64_t file_type) {
  const std::size_t id = types_.size();
  if (absl::Status status = CheckSpelling(spelling, id); !status.ok()) return status;
  const absl::StatusOr<TokenType> type = CheckType(file_type, id, alphabet_);
  if (!type.ok()) return type.status();
  if (*type == TokenType::kByte && !ByteOfSpelling(spelling)) {
    return absl::InvalidArgumentError(absl::StrCat(
        kTokensKey, ": token ", id, " has type 6 (byte), but is spelled ", Quote(spelling)));
  }
  types_.push_back(*type);
  // Converters write the spaces of these tokens as spaces.
  std::string marked;
  if (alphabet_ == Alphabet::kCharacters && *type == TokenType::kUserDefined) {
    spelling = marked = ReplaceAll(spelling, " ", kSpaceMark);
  }
  spellings_.Add(spelling);
  const std::string bytes = BytesOfToken(spelling, *type, alphabet_);
  bytes_.Add(bytes);
  // A control token has no bytes of its own, but covers its spelling; so does a text's own U+2581.
  const bool by_spelling = alphabet_ == Alphabet::kCharacters || *type == TokenType::kControl;
  longest_bytes_ = std::max({longest_bytes_, bytes.size(), by_spelling ? spelling.size() : 0});
  return absl::OkStatus();
}

// Once the arena no longer grows, so that views into it stay valid.
absl::Status Vocabulary::Index() {
  ids_.reserve(types_.size());
  for (TokenId id = 0; id < size(); ++id) {
    const auto [entry, inserted] = ids_.emplace(Spelling(id), id);
    if (!inserted) {
      return absl::InvalidArgumentError(absl::StrCat(
          kTokensKey, ": tokens ", entry->second, " and ", id, " are both ", Quote(Spelling(id))));
    }
  }
  return absl::OkStatus();
}

void Vocabulary::Guard(TokenId id) {
  TokenType& guarded = types_[static_cast<std::size_t>(id)];
  if (guarded == TokenType::kUserDefined) guarded = TokenType::kGuarded;
}

void Vocabulary::GiveBytes(TokenId control) {
  if (type(control) == TokenType::kControl) spelled_out_.insert(control);
}

std::optional<TokenId> Vocabulary::Find(std::string_view spelling) const {
  const auto entry = ids_.find(spelling);
  if (entry == ids_.end()) return std::nullopt;
  return entry->second;
}

std::optional<TokenId> Vocabulary::Find(std::string_view spelling, TokenType wanted) const {
  const std::optional<TokenId> id = Find(spelling);
  if (!id || type(*id) != wanted) return std::nullopt;
  return id;
}

std::optional<TokenId> Vocabulary::FindMergeable(std::string_view spelling) const {
  const std::optional<TokenId> id = Find(spelling);
  if (!id || (type(*id) != TokenType::kNormal && type(*id) != TokenType::kUserDefined)) return {};
  return id;
}

}  // namespace banyan::text
