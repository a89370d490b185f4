// What a request keeps of its KV where that is not all of it, as it is asked for: plain data. What
// it means is in policies/, a file for each type.
#pragma once

#include <cstdint>
#include <string_view>

namespace banyan::scheduler {

struct KvPolicy {
  enum class Type : std::uint8_t { kStreaming };

  Type type = Type::kStreaming;
  std::int32_t sinks = 4;      // the first tokens, which every later one sees
  std::int64_t window = 1024;  // the last ones that a token sees, itself among them
  friend bool operator==(const KvPolicy&, const KvPolicy&) = default;
};
inline constexpr int kKvPolicyTypes = 1;

inline std::string_view Name(KvPolicy::Type type) {
  switch (type) {
    case KvPolicy::Type::kStreaming:
      return "streaming";
  }
  return "";
}

// The most tokens of a request, prompt and answer, that no context bounds.
inline constexpr std::int64_t kMaxPolicyTokens = std::int64_t{1} << 24;

}  // namespace banyan::scheduler
