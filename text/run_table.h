// Tokens by the runs that become them. Short runs, which nearly all are, are compared as two
// numbers in an array of their own. Immutable once made, thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "text/vocabulary.h"

namespace banyan::text {

// A run of up to 15 bytes as a number; its length makes it unlike any other run.
struct ShortRun {
  static constexpr std::size_t kMaxBytes = 15;

  std::uint64_t low = 0;
  std::uint64_t high = 0;

  static ShortRun Of(std::string_view run) {
    ShortRun key;
    const std::size_t length = run.size();
    if (length >= 8) {
      std::memcpy(&key.low, run.data(), 8);
      // The last eight bytes, of which those that `low` has are shifted out.
      std::memcpy(&key.high, run.data() + length - 8, 8);
      key.high = length == 8 ? 0 : key.high >> (8 * (16 - length));
    } else if (length >= 4) {
      std::uint32_t first = 0;
      std::uint32_t last = 0;
      std::memcpy(&first, run.data(), 4);
      std::memcpy(&last, run.data() + length - 4, 4);
      key.low = first | static_cast<std::uint64_t>(last) << (8 * (length - 4));
    } else {
      for (std::size_t i = 0; i < length; ++i) {
        key.low |= static_cast<std::uint64_t>(static_cast<unsigned char>(run[i])) << (8 * i);
      }
    }
    key.high |= static_cast<std::uint64_t>(length) << 56;
    return key;
  }

  std::uint64_t Hash() const {
    const std::uint64_t mixed = (low ^ std::rotl(high, 29)) * 0x9E3779B97F4A7C15u;
    return (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93u;
  }
  friend bool operator==(const ShortRun&, const ShortRun&) = default;
};
static_assert(std::endian::native == std::endian::little);

class RunTable {
 public:
  explicit RunTable(std::size_t runs) : entries_(std::bit_ceil(2 * runs + 2)) {}

  // The first token that a run is given keeps it. `run`, not empty, must outlive the table. At most
  // as many runs as the table was made for.
  void Add(std::string_view run, TokenId id) {
    if (run.size() > ShortRun::kMaxBytes) {
      long_runs_.emplace(run, id);
      return;
    }
    const ShortRun key = ShortRun::Of(run);
    Entry& entry = entries_[Place(key)];
    if (entry.key == ShortRun()) entry = {.key = key, .id = id};
  }

  std::optional<TokenId> Find(std::string_view run) const {
    if (run.size() <= ShortRun::kMaxBytes) return Find(ShortRun::Of(run));
    const auto entry = long_runs_.find(run);
    if (entry == long_runs_.end()) return std::nullopt;
    return entry->second;
  }
  std::optional<TokenId> Find(const ShortRun& key) const {
    const Entry& entry = entries_[Place(key)];
    if (entry.key == ShortRun()) return std::nullopt;
    return entry.id;
  }

 private:
  struct Entry {
    ShortRun key;  // the empty run where there is none
    TokenId id = 0;
  };

  // Where the run is, or would be. At most half of the entries are used, so the walk ends.
  std::size_t Place(const ShortRun& key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = key.Hash() >> 20 & mask;
    while (entries_[at].key != key && entries_[at].key != ShortRun()) at = (at + 1) & mask;
    return at;
  }

  std::vector<Entry> entries_;  // a power of two
  absl::flat_hash_map<std::string_view, TokenId, BytesHash> long_runs_;
};

}  // namespace banyan::text
