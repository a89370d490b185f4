// What a slot of the fake model's pages holds, and how a path of tokens is hashed: by the model
// from what it reads back through a page table, by the oracle from the tokens alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "tests/scheduler/seen.h"

namespace banyan::sim {

inline constexpr TokenId kVocabulary = 61;

// splitmix64, https://prng.di.unimi.it/splitmix64.c
inline std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Who may share a path: an index of its own for each pair of tenant and salt.
using Realm = std::int32_t;

// The KV of one token. As made here it is poison: no path ever has it.
struct Slot {
  Realm realm = -1;
  TokenId token = -1;
  std::int64_t position = -1;
  std::uint64_t path = 0xDEADDEADDEADDEAD;  // of all tokens up to this one
  friend bool operator==(const Slot&, const Slot&) = default;
};

// The slot of `token` at `position`, behind what was read from the slot before it (null: none).
inline Slot SlotAfter(const Slot* before, Realm realm, TokenId token, std::int64_t position) {
  const std::uint64_t path =
      before == nullptr ? Mix(static_cast<std::uint64_t>(realm)) : before->path;
  return {realm, token, position, Mix(path + static_cast<std::uint64_t>(token))};
}

// What attention makes of one more slot.
inline std::uint64_t Attend(std::uint64_t sum, const Slot& slot) {
  const auto place = static_cast<std::uint64_t>(slot.realm) << 48 ^
                     static_cast<std::uint64_t>(slot.position) << 16 ^
                     static_cast<std::uint64_t>(slot.token);
  return Mix(sum ^ slot.path ^ place * 0x9E3779B97F4A7C15);
}

// What it makes of all that a token at `position` sees up to `last`, where slot_at(p) is the slot
// of p.
template <class SlotAt>
std::uint64_t AttendAll(SlotAt slot_at, std::int64_t position, std::int64_t last,
                        kernels::KeyWindow window) {
  const auto attend = [&](std::uint64_t sum, std::int64_t p) { return Attend(sum, slot_at(p)); };
  return scheduler::SumSeen(attend, position, last, window);
}

// Another one for every choice of pages.
inline Slot Choosing(Slot slot, const kernels::PageChoice& choice) {
  const auto layers = static_cast<std::uint64_t>(choice.dense_layers);
  if (choice.is_made())
    slot.path = Mix(slot.path + (static_cast<std::uint64_t>(choice.pages) << 16) + layers);
  return slot;
}

// The slot of `token` at `position`, behind those that slot_at(p) gives, of which there are
// `compacted` fewer. Where the token does not see all that were before it, it is a hash of those it
// sees, and the realm's.
template <class SlotAt>
Slot NextSlot(SlotAt slot_at, Realm realm, TokenId token, std::int64_t position,
              kernels::KeyWindow window, std::int64_t compacted = 0,
              const kernels::PageChoice& choice = {}) {
  if (!window.cuts(position) && compacted == 0) {
    if (position == 0) return Choosing(SlotAfter(nullptr, realm, token, position), choice);
    const Slot before = slot_at(position - 1);
    return Choosing(SlotAfter(&before, realm, token, position), choice);
  }
  const std::int64_t slot = position - compacted;
  const std::uint64_t seen = AttendAll(slot_at, slot, slot - 1, window);
  return {realm, token, position, Mix(~seen + static_cast<std::uint64_t>(token))};
}

// All that a draw depends on besides the path.
struct Question {
  SamplingParams sampling{};
  std::span<const TokenId> context{};
  std::int64_t prompt_tokens = 0;
  std::span<const TokenBias> logit_bias{};
  std::span<const TokenId> forbidden{};
  std::int32_t top_logprobs = 0;
};

// The token that is drawn after a path that attends to `sum`.
ScoredToken Draw(std::uint64_t sum, const Question& question);
// What is said of `token` there.
ScoredToken Score(std::uint64_t sum, TokenId token, std::int32_t top_logprobs);
bool Same(const ScoredToken& a, const ScoredToken& b);

}  // namespace banyan::sim
