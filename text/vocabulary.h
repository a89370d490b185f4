// The tokens of a byte-level vocabulary: how each is spelled in the model file, its type, and the
// bytes it stands for. Immutable once made, thread-safe.
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
#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"

namespace banyan::text {

inline constexpr std::size_t kMaxVocabularySize =
    1 << 20;  // tokens; the largest in use have about 2^18
inline constexpr std::size_t kMaxTokenBytes = 1 << 16;  // in one spelling

// As numbered by `tokenizer.ggml.token_type`.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // found in text only where the caller says so; no text of its own
  kUserDefined = 4,  // found as control tokens are, but stands for its own spelling
  kUnused = 5,
  kByte = 6,
};

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
                                           std::span<const std::int64_t> types);

  std::int32_t size() const { return static_cast<std::int32_t>(types_.size()); }

  // Ids outside the vocabulary have no bytes and no spelling.
  std::string_view Bytes(TokenId id) const { return bytes_.At(id); }
  std::string_view Spelling(TokenId id) const { return spellings_.At(id); }

  std::size_t longest_bytes() const { return longest_bytes_; }  // of text that one token covers

  TokenType type(TokenId id) const { return types_[static_cast<std::size_t>(id)]; }  // id in range
  std::optional<TokenId> Find(std::string_view spelling) const;
  // The same, but only if it is of that type.
  std::optional<TokenId> Find(std::string_view spelling, TokenType type) const;

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

  std::size_t longest_bytes_ = 0;
  std::vector<TokenType> types_;
  Arena spellings_;
  Arena bytes_;
  absl::flat_hash_map<std::string_view, TokenId, BytesHash> ids_;  // keys lie in spellings_
};

}  // namespace banyan::text
