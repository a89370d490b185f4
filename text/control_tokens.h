// Finds the tokens that are cut out of a text before anything else is done to it: leftmost first,
// of those that start together the longest. Immutable once made, thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/vocabulary.h"

namespace banyan::text {

// Bounds the work at each position of a text. The longest ones in use have about 100 bytes.
inline constexpr std::size_t kMaxControlTokenBytes = 256;

enum class Searched : std::uint8_t {
  kEveryToken,
  kUserDefined,  // none of the others
};

class ControlTokenFinder {
 public:
  struct Found {
    std::size_t begin = 0;  // in the text
    std::size_t length = 0;
    TokenId id = 0;
  };

  // Control, unknown, guarded and user-defined tokens of `vocabulary`. kInvalidArgument names one
  // that is too long.
  static absl::StatusOr<ControlTokenFinder> Create(const Vocabulary& vocabulary);

  // The first one that lies wholly in `text` at or after `from`.
  std::optional<Found> Find(std::string_view text, std::size_t from, Searched searched) const;

  bool IsUserDefined(TokenId id) const { return user_defined_.contains(id); }

 private:
  static constexpr std::int32_t kRoot = 0;
  static constexpr std::int32_t kNone = -1;

  ControlTokenFinder() { first_.fill(kNone); }
  void Add(std::string_view spelling, TokenId id);
  std::optional<Found> LongestAt(std::string_view text, std::size_t begin, Searched searched) const;
  std::int32_t Child(std::int32_t node, char byte) const;

  // A trie over bytes: edges from (node, byte) to node, and the token that ends at a node or kNone.
  absl::flat_hash_map<std::uint64_t, std::int32_t> children_;
  std::vector<TokenId> ends_ = {kNone};
  std::array<std::int32_t, 256> first_;  // the root's edges once more: most positions stop there
  absl::flat_hash_set<TokenId> user_defined_;
};

}  // namespace banyan::text
