// Reads the `tokenizer.*` keys of a model file. Errors name the key: kInvalidArgument where it is
// missing, of another type, or contradicts another. Stateless, thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/metadata.h"
#include "text/chat_template.h"
#include "text/codec.h"
#include "text/vocabulary.h"

namespace banyan::text {

absl::StatusOr<std::string_view> RequireString(const Metadata& metadata, std::string_view key);
absl::StatusOr<std::vector<std::string_view>> RequireStrings(const Metadata& metadata,
                                                             std::string_view key);
absl::StatusOr<std::vector<double>> RequireFloats(const Metadata& metadata, std::string_view key);
// Nothing where the key is missing.
absl::StatusOr<std::optional<bool>> ReadSwitch(const Metadata& metadata, std::string_view key);

absl::StatusOr<std::unique_ptr<Vocabulary>> ReadVocabulary(const Metadata& metadata,
                                                           Alphabet alphabet);

// The tokens that have a part of their own. What a file does not name has its kind's default.
struct SpecialTokens {
  std::optional<TokenId> begin;
  std::optional<TokenId> end;
  std::optional<TokenId> unknown;
  std::optional<TokenId> separator;
  std::optional<TokenId> padding;
  std::optional<TokenId> classification;
  std::optional<TokenId> mask;
  // Those that end an answer: the file's own, and control tokens of well-known names. Not empty.
  std::vector<TokenId> ends;
  std::vector<TokenId> named;  // all that the file names, for whatever part
  bool add_begin = false;      // `begin` is there
  bool add_end = false;        // `end` is there
};

struct SpecialDefaults {
  std::optional<TokenId> begin{};
  std::optional<TokenId> end{};
  std::optional<TokenId> unknown{};
  bool add_begin = false;
};

absl::StatusOr<SpecialTokens> ReadSpecialTokens(const Metadata& metadata,
                                                const Vocabulary& vocabulary,
                                                const SpecialDefaults& defaults);

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ReadTemplate(const Metadata& metadata,
                                                                 const Vocabulary& vocabulary,
                                                                 const SpecialTokens& specials,
                                                                 const CodecOptions& options);

// Guards the user-defined tokens with which a message could pass for the structure of a chat: those
// that end an answer, that the file names, that have a well-known name, or that the template writes
// (white space aside). Gives control tokens that mark reasoning their bytes.
void GuardTokens(const Metadata& metadata, const CodecOptions& options,
                 const SpecialTokens& specials, const ChatTemplate& chat_template,
                 Vocabulary& vocabulary);

}  // namespace banyan::text
