// The tokens of a vocabulary: how each is spelled in the model file, its type, and the bytes it
// stands for. Immutable once in use, thread-safe.
//
// Invariants: spellings are distinct, not empty, and UTF-8; ids are 0 .. size() - 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"

namespace banyan::text {

inline constexpr std::size_t kMaxVocabularySize =
    1 << 20;                                        // tokens; the largest in use have about 2^18
inline constexpr std::size_t kMaxMerges = 1 << 22;  // the most in use are about 2^19
inline constexpr std::size_t kMaxTokenBytes = 1 << 16;  // in one spelling

// As numbered by `tokenizer.ggml.token_type`.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // found in text only where the caller says so; no text of its own
  kUserDefined = 4,  // found in any text, before anything else is done to it
  kUnused = 5,
  kByte = 6,
  // Not a file's: a user-defined token that structures a chat (Vocabulary::Guard). It is found as
  // control tokens are, but stands for its own spelling.
  kGuarded = 7,
};

// How tokens spell what they stand for.
enum class Alphabet : std::uint8_t {
  kBytes,       // as text/byte_alphabet.h says
  kCharacters,  // as it is, but U+2581 stands for a space, and <0xNN> of type kByte for a byte
};
inline constexpr std::string_view kSpaceMark = "\u2581";

// `text` with every `from` replaced.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);

// absl hashes its own string_view only.
struct BytesHash {
  std::size_t operator()(std::string_view bytes) const {
    return absl::Hash<absl::string_view>()(absl::string_view(bytes.data(), bytes.size()));
  }
};

class Vocabulary {
 public:
  // kInvalidArgument names the `tokenizer.ggml.…` key and the entry; kUnimplemented a type that a
  // byte-level vocabulary has no use for.
  static absl::StatusOr<Vocabulary> Create(std::span<const std::string_view> spellings,
                                           std::span<const std::int64_t> types, Alphabet alphabet);

  // Before the vocabulary is used: a user-defined token becomes kGuarded, others stay.
  void Guard(TokenId id);
  // Before the vocabulary is used: a control token stands for its spelling all the same.
  void GiveBytes(TokenId control);

  Alphabet alphabet() const { return alphabet_; }
  std::int32_t size() const { return static_cast<std::int32_t>(types_.size()); }

  // Ids outside the vocabulary have no bytes and no spelling.
  std::string_view Bytes(TokenId id) const {
    const std::string_view bytes = bytes_.At(id);
    return bytes.empty() && spelled_out_.contains(id) ? Spelling(id) : bytes;
  }
  std::string_view Spelling(TokenId id) const { return spellings_.At(id); }

  // The most bytes of a text that one token covers (an unknown token may cover any number).
  std::size_t longest_bytes() const { return longest_bytes_; }

  TokenType type(TokenId id) const { return types_[static_cast<std::size_t>(id)]; }  // id in range
  std::optional<TokenId> Find(std::string_view spelling) const;
  // The same, but only if it is of that type.
  std::optional<TokenId> Find(std::string_view spelling, TokenType type) const;
  // The same, but only if it is one that merging may make or take: normal or user-defined.
  std::optional<TokenId> FindMergeable(std::string_view spelling) const;

 private:
  // Strings one behind the other. Views into it survive a move: vectors keep their storage.
  class Arena {
   public:
    void Reserve(std::size_t strings, std::size_t bytes);
    void Add(std::string_view text);
    std::string_view At(TokenId id) const {
      if (id < 0 || static_cast<std::size_t>(id) + 1 >= ends_.size()) return {};
      const std::size_t begin = ends_[static_cast<std::size_t>(id)];
      return {chars_.data() + begin, ends_[static_cast<std::size_t>(id) + 1] - begin};
    }

   private:
    std::vector<char> chars_;
    std::vector<std::size_t> ends_ = {0};  // string i is [ends_[i], ends_[i + 1])
  };

  absl::Status Add(std::string_view spelling, std::int64_t file_type);
  absl::Status Index();

  Alphabet alphabet_ = Alphabet::kBytes;
  std::size_t longest_bytes_ = 0;
  std::vector<TokenType> types_;
  Arena spellings_;
  Arena bytes_;
  absl::flat_hash_set<TokenId> spelled_out_;
  absl::flat_hash_map<std::string_view, TokenId, BytesHash> ids_;  // keys lie in spellings_
};

}  // namespace banyan::text
