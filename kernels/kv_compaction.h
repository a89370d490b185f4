// Which slots of a sequence are kept where not all are, per layer and KV head: how important each
// is by the attention that later tokens pay it, and what becomes of the others.
//
//   observe   rows note in an *observer* what they see: a number per layer, KV head and slot
//   compact   the most important slots of each head are copied, in order, to the front of a table
//
//     slots       0 1 2 3 4 5 6 7 8 9       budget 5, recent 2
//     a head      x . . x . . x . x x  -->  0 3 6 8 9
//     another     . x x . . . . . x x  -->  1 2 8 9, and 7 where it is next in importance
//
// Afterwards a slot is no position. Keys stay roped where their tokens were; the next token is
// roped at its own position and lies in the next slot (RowRun::compacted). It sees all slots up to
// its own.
//
//   H2O           kSum of all rows observed, again and again. Zhang et al., "H2O: Heavy-hitter
//                 oracle for efficient generative inference of large language models", NeurIPS
//                 2023, https://arxiv.org/abs/2306.14048
//   Scissorhands  kHistory of the last rows, in bulk. Liu et al., "Scissorhands: Exploiting the
//                 persistence of importance hypothesis for LLM KV cache compression at test time",
//                 NeurIPS 2023, https://arxiv.org/abs/2305.17118
//   SnapKV        kSum of the last rows of a prompt, with neighbours, once. Li et al., "SnapKV: LLM
//                 knows what you are looking for before generation", 2024,
//                 https://arxiv.org/abs/2404.14469
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace banyan::kernels {

// What rows note of a slot: its probability (the softmax weight) under the query heads that share
// its KV head. A query head whose probabilities are not numbers notes nothing.
enum class SlotImportance : std::uint8_t {
  kSum,      // the sum over rows and query heads
  kHistory,  // how many of the last rows gave it at least the mean: 1/n of what their heads give n
};

// Which rows of a run are observed: those at `from` and behind. The row at `from` begins: what the
// observer held is forgotten, and slots before it start with nothing. From then on every token of
// the sequence is observed. Two runs of a step never have the same observer.
struct Observation {
  static constexpr std::int32_t kNobody = -1;
  static constexpr std::int32_t kMaxObservers = 1 << 14;

  std::int32_t observer = kNobody;  // 0..kMaxObservers - 1, as the caller numbers them
  std::int64_t from = 0;            // a position
  SlotImportance by = SlotImportance::kSum;

  bool is_made() const { return observer != kNobody; }
  friend bool operator==(const Observation&, const Observation&) = default;
};

// Which slots survive: the first `sinks` and the last `recent` in any case, and of those between
// the most important, lower ones first among equals, up to `budget` in all.
struct KeepRule {
  static constexpr std::int32_t kMaxHistory = 64;
  static constexpr std::int32_t kMaxPooled = 63;

  std::int64_t budget = 1;  // >= sinks + recent
  std::int64_t recent = 1;  // >= 1: a later token goes on from the last one
  std::int64_t sinks = 0;
  // With kHistory: rows that count, the last ones; 1..kMaxHistory.
  std::int32_t history = kMaxHistory;
  // A slot between is as important as the greatest of so many around it that are not recent, itself
  // in the middle; odd, 1..kMaxPooled.
  std::int32_t pooled = 1;

  // Of so many slots.
  constexpr std::int64_t kept(std::int64_t slots) const { return std::min(budget, slots); }
  bool is_sound() const {
    return 1 <= recent && 0 <= sinks && sinks <= budget - recent && 1 <= history &&
           history <= kMaxHistory && 1 <= pooled && pooled <= kMaxPooled && pooled % 2 == 1;
  }
  friend bool operator==(const KeepRule&, const KeepRule&) = default;
};

// Of kHistory, by 64 bits: those of the last `history` rows, of which the last is at position
// `last`. The row at position p has bit p % kMaxHistory.
inline std::uint64_t HistoryBits(std::int64_t last, std::int32_t history) {
  const std::uint64_t lowest = ~std::uint64_t{0} >> (KeepRule::kMaxHistory - history);
  return std::rotl(lowest, static_cast<int>((last - history + 1) % KeepRule::kMaxHistory));
}

// Of slots 0 .. slots - 1 of the table `from`, keep.kept(slots) become the first ones of the table
// `to`, in every layer and head; what the observer noted of them moves along. Both tables may be
// the same, or begin with the same pages: no page of `to` lies further on in it than in `from`.
struct KvCompaction {
  std::int32_t observer = 0;  // that observed every token since it began, and the last one
  std::span<const std::int32_t> from;
  std::int64_t slots = 0;
  std::span<const std::int32_t> to;
  KeepRule keep;
};

}  // namespace banyan::kernels
