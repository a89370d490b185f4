#include "tests/sim/keeping.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace banyan::sim {

using kernels::KeepRule;
using kernels::SlotImportance;
using scheduler::KvPolicy;

std::optional<Keeping> KeepingOf(const scheduler::Request& request, std::int32_t page_size) {
  if (!request.kv_policy || request.kv_policy->type == KvPolicy::Type::kStreaming)
    return std::nullopt;
  const KvPolicy& policy = *request.kv_policy;
  Keeping keeping;
  keeping.prompt = static_cast<std::int64_t>(request.prompt.size());
  keeping.first_observed = std::max<std::int64_t>(keeping.prompt - policy.observe, 0);
  keeping.rule = {.budget = policy.budget, .recent = policy.recent};
  if (policy.recent == 0) keeping.rule.recent = std::max<std::int64_t>(policy.budget / 2, 1);
  switch (policy.type) {
    case KvPolicy::Type::kStreaming:
      break;
    case KvPolicy::Type::kH2o:
      keeping.limit = policy.budget + page_size;
      break;
    case KvPolicy::Type::kScissorhands:
      keeping.limit = policy.budget + std::max<std::int64_t>(policy.budget / 4, page_size);
      keeping.by = SlotImportance::kHistory;
      keeping.rule.history = policy.history;
      break;
    case KvPolicy::Type::kSnapKv:
      keeping.once = true;
      keeping.rule.pooled = policy.pooled;
      if (policy.recent == 0)
        keeping.rule.recent = std::min<std::int64_t>(policy.observe, policy.budget);
      if (keeping.prompt <= policy.budget) keeping.first_observed = INT64_MAX;
      break;
    case KvPolicy::Type::kQuest:
      keeping.once = true;
      keeping.rule.budget = INT64_MAX;
      keeping.first_observed = INT64_MAX;
      keeping.choice = {.pages = policy.budget / page_size, .dense_layers = policy.dense_layers};
      break;
  }
  return keeping;
}

bool IsSound(const KvPolicy& policy, std::int32_t page_size) {
  if (policy.type == KvPolicy::Type::kQuest) return policy.budget >= page_size;
  const auto within = [](std::int64_t value, std::int64_t most) {
    return 1 <= value && value <= most;
  };
  return policy.budget >= 1 && 0 <= policy.recent && policy.recent <= policy.budget &&
         within(policy.observe, 1024) && within(policy.history, 64) && within(policy.pooled, 63) &&
         policy.pooled % 2 == 1;
}

void Notes::Begin(SlotImportance by, std::int64_t slots) {
  by_ = by;
  notes_.assign(static_cast<std::size_t>(slots), 0);
}

void Notes::Note(std::uint64_t& note, std::uint64_t weight) const {
  note = by_ == SlotImportance::kSum ? note + weight : note << 1 | (weight >= 500 ? 1U : 0U);
}

std::uint64_t Notes::Importance(std::int64_t slot, const KeepRule& rule) const {
  const std::uint64_t note = notes_[static_cast<std::size_t>(slot)];
  if (by_ == SlotImportance::kSum) return note;
  return static_cast<std::uint64_t>(std::popcount(note << (64 - rule.history)));
}

std::vector<std::int64_t> Notes::Keep(const KeepRule& rule) {
  std::vector<std::int64_t> kept(notes_.size());
  std::iota(kept.begin(), kept.end(), 0);
  if (slots() <= rule.budget) return kept;
  const std::int64_t end = slots() - rule.recent;
  const auto pooled = [&](std::int64_t slot) {
    const std::int64_t reach = rule.pooled / 2;
    std::uint64_t most = 0;
    for (std::int64_t i = slot - reach; i <= slot + reach; ++i)
      if (0 <= i && i < end) most = std::max(most, Importance(i, rule));
    return most;
  };
  const auto between = kept.begin() + rule.sinks;
  std::stable_sort(between, kept.begin() + end,
                   [&](std::int64_t a, std::int64_t b) { return pooled(a) > pooled(b); });
  kept.erase(kept.begin() + (rule.budget - rule.recent), kept.begin() + end);
  std::sort(kept.begin(), kept.end());
  std::vector<std::uint64_t> notes;
  for (const std::int64_t slot : kept) notes.push_back(notes_[static_cast<std::size_t>(slot)]);
  notes_ = std::move(notes);
  return kept;
}

}  // namespace banyan::sim
