// What vocabularies of characters need besides merging. Their files come from SentencePiece models
// (Kudo and Richardson 2018, https://arxiv.org/abs/1808.06226): spaces become U+2581, and of the
// merges there are only the scores of what they make.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "text/bpe.h"
#include "text/run_source.h"
#include "text/vocabulary.h"

namespace banyan::text {

// Longer tokens take no part in merges: every way to split one is tried.
inline constexpr std::size_t kMaxMergedBytes = 256;

// Of each token every split into two tokens, in the order of the reference's converter: the higher
// score first, then the longer left part, then the longer right part. User-defined tokens have the
// score 0 that SentencePiece gives them; files say otherwise. kInvalidArgument names the entry of
// `tokenizer.ggml.scores` or `tokenizer.ggml.tokens` that is wrong.
absl::StatusOr<std::vector<BpeMerge>> MergesFromScores(const Vocabulary& vocabulary,
                                                       std::span<const double> scores);

// Cuts where a word begins: before a U+2581, unless some token has what stands before it in it too.
// No merge crosses such a place, so this changes nothing but the time.
class SentencePieceRuns final : public RunSource {
 public:
  enum class Prefix : std::uint8_t {
    kNone,
    kSpace,  // each stretch of plain text is given a space in front
  };

  SentencePieceRuns(const Vocabulary& vocabulary, Prefix prefix);

  void ForEachRun(std::string_view text,
                  absl::FunctionRef<void(std::string_view)> emit) const override;

 private:
  bool CutsBefore(std::string_view text, std::size_t mark) const;

  Prefix prefix_;
  absl::flat_hash_set<char32_t> before_marks_;  // characters that some token has before a U+2581
};

}  // namespace banyan::text
