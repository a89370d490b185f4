// Byte-pair encoding: a run becomes tokens by merging, again and again, the neighbours whose pair
// comes first in the merge list, the leftmost of several. It begins with the tokens of its bytes
// or, in a vocabulary of characters, of its characters.
// Source: Sennrich et al. 2016, https://arxiv.org/abs/1508.07909.
//
// Immutable once made, thread-safe; a BpeScratch belongs to one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/pair_table.h"
#include "text/run_table.h"
#include "text/vocabulary.h"

namespace banyan::text {

// Two tokens and what they become; its rank is its place in the list.
struct BpeMerge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;
};

// Of `tokenizer.ggml.merges`, "left right" in order of rank. kInvalidArgument names the entry that
// is wrong. Only normal and user-defined tokens take part: no merge can make a control token.
absl::StatusOr<std::vector<BpeMerge>> ParseMerges(const Vocabulary& vocabulary,
                                                  std::span<const std::string_view> merges);

// Memory that the runs of one call share.
class BpeScratch {
 public:
  // Symbols looked at and candidates queued, over all runs: what the time is proportional to, but
  // for the queue's logarithm.
  std::int64_t steps() const { return steps_; }

 private:
  friend class Bpe;

  struct Symbol {
    TokenId id = 0;  // kMergedAway once it belongs to its left neighbour
    std::int32_t previous = 0;
    std::int32_t next = 0;
  };
  struct Candidate {
    std::int32_t rank = 0;
    std::int32_t left = 0;  // index of the left symbol
    // The pair when it was queued; another one stands there by now if it is stale.
    TokenId left_id = 0;
    TokenId right_id = 0;
  };
  // What runs became that are no token: words come again.
  struct Known {
    static constexpr std::size_t kMaxIds = 6;

    ShortRun run;
    std::int32_t count = 0;
    std::array<TokenId, kMaxIds> ids{};
  };

  std::vector<TokenId> first_;  // of a run, before merging
  std::vector<Symbol> symbols_;
  std::vector<Candidate> queue_;  // a heap
  std::vector<Known> known_;      // empty, or kKnownRuns places
  int merged_ = 0;                // runs, before there was known_
  std::int64_t steps_ = 0;
};

class Bpe {
 public:
  // Runs of up to this many symbols are merged by scanning for the best pair, longer ones by a
  // queue: O(n log n) for any n.
  static constexpr std::size_t kScanLimit = 32;

  enum class WholeRuns : std::uint8_t {
    kIfMergesLeadThere,  // being spelled like a token is not enough
    kWheneverSpelled,    // a run that is spelled like a token is that token
  };

  struct Options {
    WholeRuns whole_runs = WholeRuns::kIfMergesLeadThere;
    // Vocabularies of characters: what stands for characters that have neither a token nor tokens
    // for all their bytes, one for several in a row. Without it they are left out.
    std::optional<TokenId> unknown;
  };

  // `vocabulary` must outlive the Bpe. Of several merges of one pair the last counts, as in the
  // reference.
  Bpe(const Vocabulary& vocabulary, std::span<const BpeMerge> merges, const Options& options);

  // Appends the tokens of `run`, which is UTF-8 in a vocabulary of characters, to `ids`. Bytes that
  // a vocabulary of bytes has no token for are left out before merging, as the reference library
  // does (SmolLM2 lacks U+0004 and five more).
  void Encode(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const;

 private:
  static constexpr TokenId kNoToken = -1;
  static constexpr TokenId kMergedAway = -2;
  static constexpr std::int32_t kNoRank = INT32_MAX;
  static constexpr std::size_t kKnownRuns = 4096;
  static constexpr int kRunsUntilKnown = 64;

  void FindAtoms(const Vocabulary& vocabulary);
  void AddWholeRuns(const Vocabulary& vocabulary, WholeRuns whole_runs);

  void AppendAtoms(std::string_view run, std::vector<TokenId>& ids) const;
  void AppendCharacter(std::string_view character, std::vector<TokenId>& ids) const;
  void MergeRun(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const;
  void MergeByScan(std::vector<TokenId>& ids, BpeScratch& scratch) const;
  void MergeByQueue(std::vector<TokenId>& ids, BpeScratch& scratch) const;
  void Enqueue(std::int32_t left, BpeScratch& scratch) const;

  Alphabet alphabet_;
  std::optional<TokenId> unknown_;
  std::array<TokenId, 256> byte_ids_;  // kNoToken where the vocabulary has none
  // Vocabularies of characters: tokens of one character each, by code point.
  std::array<TokenId, 128> ascii_ids_;
  absl::flat_hash_map<char32_t, TokenId> character_ids_;
  PairTable merges_;
  RunTable whole_runs_;
};

}  // namespace banyan::text
