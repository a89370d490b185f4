// Byte-pair encoding: a run of bytes becomes tokens by merging, again and again, the neighbours
// whose pair comes first in the merge list, the leftmost of several.
// Source: Sennrich et al. 2016, https://arxiv.org/abs/1508.07909.
//
// Immutable once made, thread-safe; a BpeScratch belongs to one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/vocabulary.h"

namespace banyan::text {

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

  std::vector<Symbol> symbols_;
  std::vector<Candidate> queue_;  // a heap
  std::int64_t steps_ = 0;
};

class Bpe {
 public:
  // Runs of up to this many symbols are merged by scanning for the best pair, longer ones by a
  // queue: O(n log n) for any n.
  static constexpr std::size_t kScanLimit = 32;

  // `merges` are "left right" in order of rank. `vocabulary` must outlive the Bpe.
  // kInvalidArgument names the entry of `tokenizer.ggml.merges` that is wrong. Only normal tokens
  // take part: no merge and no byte can make a control token.
  static absl::StatusOr<Bpe> Create(const Vocabulary& vocabulary,
                                    std::span<const std::string_view> merges);

  // Appends the tokens of `run` to `ids`. Bytes that the vocabulary has no token for are left out
  // before merging, as the reference library does (SmolLM2 lacks U+0004 and five more).
  void Encode(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const;

 private:
  struct Merge {
    std::int32_t rank = 0;
    TokenId id = 0;  // what the pair becomes
  };
  static constexpr TokenId kNoToken = -1;
  static constexpr TokenId kMergedAway = -2;
  static constexpr std::int32_t kNoRank = INT32_MAX;

  Bpe() { byte_ids_.fill(kNoToken); }
  absl::Status AddMerge(const Vocabulary& vocabulary, std::string_view merge, std::size_t rank);
  void AddWholeRuns(const Vocabulary& vocabulary);
  const Merge* FindMerge(TokenId left, TokenId right) const;

  void MergeRun(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const;
  void AppendBytes(std::string_view run, std::vector<TokenId>& ids) const;
  void MergeByScan(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const;
  void MergeByQueue(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const;
  void Enqueue(std::int32_t left, BpeScratch& scratch) const;

  std::array<TokenId, 256> byte_ids_;                 // kNoToken where the vocabulary has none
  absl::flat_hash_map<std::uint64_t, Merge> merges_;  // by (left, right)
  // Runs that merging turns into one token, found by merging every token's bytes once. A run that
  // is spelled like a token is not enough: no merge may lead to that token.
  absl::flat_hash_map<std::string_view, TokenId, BytesHash> whole_runs_;  // keys: the vocabulary's
  std::size_t longest_whole_run_ = 0;
};

}  // namespace banyan::text
