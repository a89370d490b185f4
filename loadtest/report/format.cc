#include "loadtest/report/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace banyan::loadtest {
namespace {

// Of a terminal, and of a line's label.
constexpr std::size_t kColumns = 100;
constexpr int kLabel = 19;

}  // namespace

std::string FormatCount(std::int64_t count) {
  std::string digits = absl::StrCat(count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string FormatNumber(double number) {
  if (!std::isfinite(number) || std::abs(number) > 1e15) return "-";
  const double size = std::abs(number);
  if (size >= 99.95) return FormatCount(std::llround(number));
  // The digits after the point are chosen after rounding: 9.996 is "10.0".
  return absl::StrFormat("%.*f", size >= 9.995 ? 1 : size >= 0.9995 || size == 0 ? 2 : 3, number);
}

std::string FormatShare(double share) {
  if (!std::isfinite(share)) return "-";
  return absl::StrFormat("%.1f%%", 100 * share);
}

std::string FormatTime(Tick time) {
  const double ms = 1000 * Seconds(time);
  if (ms == 0) return "0 ms";
  return std::abs(ms) < 999.5 ? FormatNumber(ms) + " ms" : FormatNumber(ms / 1000) + " s";
}

std::string FormatTimeOf(const Histogram& histogram, double quantile) {
  return histogram.count() == 0 ? "-" : FormatTime(Tick(histogram.Quantile(quantile)));
}

std::string TurnName(std::int32_t turn) {
  return turn < kLastTurnGroup ? absl::StrCat(turn) : absl::StrCat(turn, " and later");
}

std::string HitBucketName(int bucket) {
  static constexpr std::array<std::string_view, kHitBuckets> kNames = {
      "none", "up to 25%", "25% to 50%", "50% to 75%", "over 75%"};
  return std::string(kNames.at(static_cast<std::size_t>(bucket)));
}

std::string Failures(const Summary& summary) {
  std::vector<std::pair<std::int64_t, int>> kinds;
  for (int i = 1; i < kOutcomes; ++i) {
    if (summary.outcomes[i] > 0) kinds.emplace_back(-summary.outcomes[i], i);
  }
  std::sort(kinds.begin(), kinds.end());
  std::string text;
  for (const auto& [count, kind] : kinds) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", std::string(Name(static_cast<Outcome>(kind))),
                    " ", FormatCount(-count));
  }
  return text;
}

std::vector<std::string> Warnings(const Result& result, const Summary& summary) {
  std::vector<std::string> warnings;
  if (summary.client_limited) {
    warnings.push_back(absl::StrFormat(
        "The client was a bottleneck: it used %.0f%% of one processor (limit %.0f%%) and came to "
        "its requests %s late at p99 (limit %s). The server may be faster than these figures.",
        100 * result.client.cpu_share, 100 * kClientCpuLimit, FormatTimeOf(result.client.lag, 0.99),
        FormatTime(kClientLagLimit)));
  }
  if (result.interrupted) {
    warnings.push_back("The run was interrupted: what it had measured until then is shown.");
  }
  if (summary.usage_missing) {
    warnings.push_back(
        "The server did not tell its tokens (usage) in every answer: there, a token is an event "
        "of the stream with content, which can hold several.");
  }
  if (summary.requests() == 0) {
    warnings.push_back(
        "No request was scheduled after the warm-up: there is nothing to summarize.");
  } else if (summary.all.requests == 0) {
    warnings.push_back("No request was answered: there are no times to show.");
  } else if (summary.all.requests < 100) {
    warnings.push_back(
        absl::StrFormat("Of %d answers, p99 is hardly more than the slowest: ask for 100 or more.",
                        summary.all.requests));
  }
  return warnings;
}

std::string TableLine(std::string_view label, std::string_view text) {
  const std::string safe = OnOneLine(ToValidUtf8(text));
  const std::size_t room = kColumns - kLabel - 3;
  std::string lines;
  std::string line;
  const auto flush = [&] {
    absl::StrAppend(
        &lines, absl::StrFormat("  %-*.*s %s\n", kLabel, kLabel, lines.empty() ? label : "", line));
    line.clear();
  };
  for (std::string word : std::vector<std::string>(absl::StrSplit(safe, ' ', absl::SkipEmpty()))) {
    if (!line.empty() && line.size() + 1 + word.size() > room) flush();
    for (; word.size() > room; word.erase(0, room)) {
      line.assign(word, 0, room);
      flush();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  flush();
  return lines;
}

}  // namespace banyan::loadtest
