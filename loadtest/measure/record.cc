#include "loadtest/measure/record.h"

#include <algorithm>
#include <array>

namespace banyan::loadtest {
namespace {

constexpr std::array<std::string_view, kOutcomes> kNames = {
    "ok",      "unresolved", "refused",   "tls",         "reset", "truncated",
    "timeout", "status",     "malformed", "error_event", "empty", "interrupted"};

}  // namespace

std::string_view Name(Outcome outcome) { return kNames.at(static_cast<std::size_t>(outcome)); }

std::optional<Outcome> ParseOutcome(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Outcome>(found - kNames.begin());
}

std::optional<Tick> Record::tpot() const {
  if (!first_content || content_events < 2 || tokens() < 2) return std::nullopt;
  return (last_content - *first_content) / (tokens() - 1);
}

std::optional<double> Record::hit_rate() const {
  if (prompt_tokens <= 0 || cached_tokens < 0) return std::nullopt;
  return static_cast<double>(cached_tokens) / static_cast<double>(prompt_tokens);
}

}  // namespace banyan::loadtest
