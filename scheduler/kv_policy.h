// What a request keeps of its KV where that is not all of it, as it is asked for: plain data. What
// it means is in policies/, a file for each type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace banyan::scheduler {

struct KvPolicy {
  enum class Type : std::uint8_t { kStreaming, kH2o, kScissorhands, kSnapKv, kQuest };

  Type type = Type::kStreaming;
  // kStreaming
  std::int32_t sinks = 4;      // the first tokens, which every later one sees
  std::int64_t window = 1024;  // the last ones that a token sees, itself among them

  // The others. Slots that survive, per layer and KV head; with kQuest those that a token of the
  // answer reads, in whole pages. And of the survivors the last ones, whatever their importance:
  // half of the budget where it is 0, with kSnapKv as many as are observed.
  std::int64_t budget = 1024;
  std::int64_t recent = 0;
  // The last tokens of a prompt that say what is important in it; 1..kMaxObserved.
  std::int32_t observe = 32;
  std::int32_t history = 64;  // kScissorhands: the last tokens that say it; 1..64
  std::int32_t pooled = 7;    // kSnapKv: slots around one that lend it their importance; odd, 1..63
  // kQuest: the first layers, whose tokens read all.
  std::int32_t dense_layers = 2;

  static constexpr std::int32_t kMaxObserved = 1024;
  friend bool operator==(const KvPolicy&, const KvPolicy&) = default;
};
inline constexpr int kKvPolicyTypes = 5;

inline std::string_view Name(KvPolicy::Type type) {
  switch (type) {
    case KvPolicy::Type::kStreaming:
      return "streaming";
    case KvPolicy::Type::kH2o:
      return "h2o";
    case KvPolicy::Type::kScissorhands:
      return "scissorhands";
    case KvPolicy::Type::kSnapKv:
      return "snapkv";
    case KvPolicy::Type::kQuest:
      return "quest";
  }
  return "";
}

// Of a policy with a budget: the slots that survive because they are the last ones.
inline std::int64_t RecentOf(const KvPolicy& policy) {
  if (policy.recent > 0) return policy.recent;
  if (policy.type == KvPolicy::Type::kSnapKv)
    return std::min<std::int64_t>(policy.observe, policy.budget);
  return std::max<std::int64_t>(policy.budget / 2, 1);
}

// The most tokens of a request, prompt and answer, that no context bounds.
inline constexpr std::int64_t kMaxPolicyTokens = std::int64_t{1} << 24;

}  // namespace banyan::scheduler
