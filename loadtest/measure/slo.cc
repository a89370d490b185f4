#include <array>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/quote.h"
#include "loadtest/measure/summary.h"

namespace banyan::loadtest {
namespace {

using Limit = std::optional<Tick> Slo::*;
constexpr std::array<std::pair<const char*, Limit>, 3> kLimits = {
    {{"ttft", &Slo::ttft}, {"itl", &Slo::itl}, {"e2e", &Slo::latency}}};

}  // namespace

bool Slo::Keeps(const Record& record) const {
  if (record.outcome != Outcome::kOk || !record.first_content) return false;
  if (ttft && record.ttft_scheduled() > *ttft) return false;
  // An answer of one token, or in one event, has no time between tokens to break a limit with.
  if (itl && record.tpot().value_or(Tick(0)) > *itl) return false;
  return !latency || record.end - record.scheduled <= *latency;
}

absl::StatusOr<Slo> ParseSlo(std::string_view text) {
  Slo slo;
  const std::string all(text);
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(all, ','))) {
    const std::pair<std::string, std::string> limit = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const auto* found = kLimits.begin();
    while (found != kLimits.end() && found->first != limit.first) ++found;
    if (found == kLimits.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a limit is ttft=TIME, itl=TIME or e2e=TIME, not ", Quote(part)));
    }
    absl::Duration time;
    if (!absl::ParseDuration(limit.second, &time) || time <= absl::ZeroDuration() ||
        time > absl::Hours(24)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the limit ", found->first, " wants a time with its unit, such as 500ms or ",
                       "1.5s, up to 24h, not ", Quote(limit.second)));
    }
    if (slo.*found->second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the limit ", found->first, " is given twice"));
    }
    slo.*found->second = absl::ToChronoNanoseconds(time);
  }
  return slo;
}

std::string Text(const Slo& slo) {
  std::string text;
  for (const auto& [name, limit] : kLimits) {
    if (!(slo.*limit)) continue;
    absl::StrAppend(&text, text.empty() ? "" : ",", name, "=",
                    absl::FormatDuration(absl::FromChrono(*(slo.*limit))));
  }
  return text;
}

}  // namespace banyan::loadtest
