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

absl::StatusOr<TokenType> CheckType(std::int64_t type, std::size_t id) {
  if (type < static_cast<std::int64_t>(TokenType::kNormal) ||
      type > static_cast<std::int64_t>(TokenType::kByte)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kTypesKey, ": token ", id, " has type ", type, ", known are 1 to 6"));
  }
  if (type == static_cast<std::int64_t>(TokenType::kByte)) {
    return absl::UnimplementedError(absl::StrCat(
        kTypesKey, ": token ", id, " has type 6 (byte), which byte-level vocabularies do not use"));
  }
  return static_cast<TokenType>(type);
}

// A normal token whose spelling leaves the byte alphabet stands for that spelling, as in the
// reference library's decoder.
std::string BytesOfToken(std::string_view spelling, TokenType type) {
  switch (type) {
    case TokenType::kNormal:
      return BytesOfSpelling(spelling).value_or(std::string(spelling));
    case TokenType::kUserDefined:
      return std::string(spelling);
    default:
      return {};
  }
}

}  // namespace

void Vocabulary::Arena::Reserve(std::size_t strings, std::size_t bytes) {
  ends_.reserve(strings + 1);
  chars_.reserve(bytes);
}

void Vocabulary::Arena::Add(std::string_view text) {
  chars_.insert(chars_.end(), text.begin(), text.end());
  ends_.push_back(chars_.size());
}

absl::StatusOr<Vocabulary> Vocabulary::Create(std::span<const std::string_view> spellings,
                                              std::span<const std::int64_t> types) {
  if (spellings.empty() || spellings.size() > kMaxVocabularySize) {
    return absl::InvalidArgumentError(absl::StrCat(kTokensKey, ": ", spellings.size(),
                                                   " tokens, expected 1 to ", kMaxVocabularySize));
  }
  if (types.size() != spellings.size()) {
    return absl::InvalidArgumentError(absl::StrCat(kTypesKey, ": ", types.size(), " entries, but ",
                                                   kTokensKey, " has ", spellings.size()));
  }
  Vocabulary vocabulary;
  std::size_t total = 0;
  for (const std::string_view spelling : spellings) total += spelling.size();
  vocabulary.spellings_.Reserve(spellings.size(), total);
  vocabulary.bytes_.Reserve(spellings.size(), total);
  vocabulary.types_.reserve(spellings.size());
  for (std::size_t id = 0; id < spellings.size(); ++id) {
    if (absl::Status status = CheckSpelling(spellings[id], id); !status.ok()) return status;
    const absl::StatusOr<TokenType> type = CheckType(types[id], id);
    if (!type.ok()) return type.status();
    vocabulary.types_.push_back(*type);
    vocabulary.spellings_.Add(spellings[id]);
    const std::string bytes = BytesOfToken(spellings[id], *type);
    vocabulary.bytes_.Add(bytes);
    // A control token has no bytes of its own, but covers its spelling.
    const std::size_t covered = *type == TokenType::kControl ? spellings[id].size() : bytes.size();
    vocabulary.longest_bytes_ = std::max(vocabulary.longest_bytes_, covered);
  }
  // Only now: the arena no longer grows, so views into it stay valid.
  vocabulary.ids_.reserve(spellings.size());
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const auto [entry, inserted] = vocabulary.ids_.emplace(vocabulary.Spelling(id), id);
    if (!inserted) {
      return absl::InvalidArgumentError(absl::StrCat(kTokensKey, ": tokens ", entry->second,
                                                     " and ", id, " are both ",
                                                     Quote(vocabulary.Spelling(id))));
    }
  }
  return vocabulary;
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

}  // namespace banyan::text
