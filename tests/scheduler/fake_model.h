// A model without arithmetic: each slot of its pages holds a token, its position and a hash of the
// path up to it; what it samples is a hash of all that it reads back through the page table. A page
// that is wrong, stale, shared too early or freed too early changes a token. Where a window cuts
// what a token sees, its slot and its draw are hashes of what it sees. So they are where slots were
// compacted: it keeps the recent ones and of the others those whose hash is greatest. A token that
// chooses pages has another slot for every choice, and so have those behind it.
//
// With open pages it is one whose pages are sealed when they are full: until then their slots are
// in the sequence's open page alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "scheduler/policies/policy.h"

namespace banyan::scheduler {

class FakeModel {
 public:
  static constexpr TokenId kVocabulary = 97;

  FakeModel(std::int32_t page_size, std::int32_t pages, std::int32_t open_pages = 0);

  // Also checks (with EXPECT) what batch.h promises about a batch.
  StepResult Forward(const Batch& batch);
  // As Forward, but what it writes is garbage, and it says so.
  StepResult Fail(const Batch& batch);

  // The token after `path`, computed without any pages: the first one from there on that is not
  // forbidden.
  static TokenId TokenAfter(std::span<const TokenId> path, std::span<const TokenId> forbidden = {},
                            kernels::KeyWindow window = {});
  // The `count` tokens that follow `prompt` under a policy that compacts or chooses, without any
  // pages.
  static std::vector<TokenId> TokensKept(std::vector<TokenId> prompt, std::int64_t count,
                                         const Policy& policy);
  // What the model says of `token` after `path`, with `top` alternatives.
  static ScoredToken ScoreAfter(std::span<const TokenId> path, TokenId token, std::int32_t top,
                                kernels::KeyWindow window = {});
  // Whether the pages hold exactly the KV of `path`.
  bool Holds(std::span<const PageId> pages, std::span<const TokenId> path) const;

  std::int64_t computed() const { return computed_; }  // tokens, of all steps
  std::int64_t pages_aside() const { return std::ssize(aside_); }

 private:
  struct Slot {
    TokenId token = -1;
    std::int64_t position = -1;
    std::uint64_t path = kPoison;
  };
  static constexpr std::uint64_t kPoison = 0xDEADDEADDEADDEAD;

  static Slot After(const Slot* before, TokenId token, std::int64_t position);
  // Of all that a token at `position` sees up to `last`, where slot_at(p) is the slot of p.
  template <class SlotAt>
  static std::uint64_t Sum(SlotAt slot_at, std::int64_t position, std::int64_t last,
                           kernels::KeyWindow window);
  template <class SlotAt>
  static Slot Next(SlotAt slot_at, TokenId token, std::int64_t position, kernels::KeyWindow window,
                   std::int64_t compacted = 0, const kernels::PageChoice& choice = {});
  static Slot Choosing(Slot slot, const kernels::PageChoice& choice);
  static std::vector<Slot> Survivors(const std::vector<Slot>& slots, const kernels::KeepRule& keep);
  static std::uint64_t SumOf(std::span<const TokenId> path, kernels::KeyWindow window);
  static std::uint64_t Attend(std::uint64_t sum, const Slot& slot);
  std::size_t Index(std::span<const PageId> pages, std::int64_t slot, PageGap gap = {}) const;
  // Where the sequence's slot is, with so many slots valid: those of whole pages in them, or where
  // there are open pages of that of the last one in it.
  std::size_t Index(const Sequence& sequence, std::int64_t slot, std::int64_t slots) const;
  void Write(const Sequence& sequence);
  void Seal(const Sequence& sequence, std::int64_t page);
  void Poison(PageId page);
  void Answer(const Sequence& sequence, SequenceResult& answer) const;
  void CheckBatch(const Batch& batch) const;
  void CheckGap(const Sequence& sequence) const;
  void Move(const Batch& batch);
  void Copy(const Batch& batch);
  void Compact(const Batch& batch);
  void Observe(const Sequence& sequence);

  const std::int32_t page_size_;
  const std::int32_t pages_;
  const std::int32_t open_pages_;  // their slots are behind those of the pages
  std::vector<Slot> slots_;
  std::map<std::int32_t, std::int64_t> observed_;    // slots, by observer
  std::map<std::int32_t, std::vector<Slot>> aside_;  // pages, by place
  std::int64_t computed_ = 0;
};

}  // namespace banyan::scheduler
