#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "loadtest/report/format.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

// More turns than this are only on the page and in the JSON.
constexpr std::size_t kMostTurns = 12;

std::string Distribution(std::string_view label, const Histogram& histogram) {
  const auto at = [&](double q) { return FormatTimeOf(histogram, q); };
  const std::string mean =
      histogram.count() == 0 ? "-" : FormatTime(Tick(static_cast<Tick::rep>(histogram.mean())));
  return absl::StrFormat("  %-36s%11s%11s%11s%11s%11s\n", label, at(0.5), at(0.9), at(0.99), at(1),
                         mean);
}

std::string GroupLine(std::string_view label, const Group& group) {
  const auto hit_rate = group.hit_rate();
  return absl::StrFormat("  %-16s%10s%10s%12s%12s%14s%14s\n", label, FormatCount(group.requests),
                         hit_rate ? FormatShare(*hit_rate) : "-",
                         FormatTimeOf(group.ttft_scheduled, 0.5),
                         FormatTimeOf(group.ttft_scheduled, 0.99), FormatTimeOf(group.latency, 0.5),
                         FormatTimeOf(group.latency, 0.99));
}

std::string GroupHead(std::string_view label) {
  return absl::StrFormat("\n  %-16s%10s%10s%12s%12s%14s%14s\n", label, "answers", "cached",
                         "TTFT p50", "TTFT p99", "latency p50", "latency p99");
}

std::string Headline(const Result& result, const Summary& summary) {
  std::string text =
      TableLine("requests",
                absl::StrCat(FormatCount(summary.requests()), " in ", FormatTime(summary.measured),
                             result.warm_up > Tick(0)
                                 ? absl::StrCat(" after a warm-up of ", FormatTime(result.warm_up))
                                 : std::string(),
                             ": ", FormatCount(summary.all.requests), " answered, ",
                             FormatCount(summary.failed()), " failed"));
  if (summary.failed() > 0) absl::StrAppend(&text, TableLine("failed", Failures(summary)));
  absl::StrAppend(
      &text, TableLine("throughput",
                       absl::StrCat(FormatNumber(summary.requests_per_second), " answers/s, ",
                                    FormatNumber(summary.tokens_per_second), " output tokens/s")));
  if (summary.slo.any()) {
    absl::StrAppend(
        &text,
        TableLine("goodput", absl::StrCat(FormatNumber(summary.goodput), " answers/s within ",
                                          Text(summary.slo), ": ", FormatShare(summary.slo_share),
                                          " of all requests")));
  }
  if (const auto rate = summary.all.hit_rate()) {
    absl::StrAppend(&text,
                    TableLine("prompt tokens",
                              absl::StrCat(FormatCount(summary.all.prompt_tokens), ", of them ",
                                           FormatShare(*rate), " from the server's cache")));
  } else {
    absl::StrAppend(&text,
                    TableLine("prompt tokens", "the server does not tell which were cached"));
  }
  return text;
}

std::string Distributions(const Summary& summary) {
  return absl::StrCat(
      absl::StrFormat("\n  %-36s%11s%11s%11s%11s%11s\n", "", "p50", "p90", "p99", "max", "mean"),
      Distribution("TTFT from its scheduled time", summary.all.ttft_scheduled),
      Distribution("TTFT from when it was sent", summary.all.ttft),
      Distribution("Gap between tokens (ITL)", summary.inter_token),
      Distribution("Time per token of an answer (TPOT)", summary.all.tpot),
      Distribution("Latency from sent to the end", summary.all.latency),
      Distribution("Wait from scheduled to sent", summary.queueing),
      "  TTFT is the time to the first token with content; p99: 99 of 100 were not longer.\n");
}

std::string Groups(const Summary& summary) {
  std::string text;
  if (summary.by_turn.size() > 1) {
    absl::StrAppend(&text, GroupHead("by turn"));
    std::size_t shown = 0;
    for (const auto& [turn, group] : summary.by_turn) {
      if (shown++ == kMostTurns) {
        absl::StrAppend(&text, "  ", summary.by_turn.size() - kMostTurns,
                        " later turns are in the report\n");
        break;
      }
      absl::StrAppend(&text, GroupLine(TurnName(turn), group));
    }
  }
  if (summary.all.hit_rate()) {
    absl::StrAppend(&text, GroupHead("by part cached"));
    for (int i = 0; i < kHitBuckets; ++i) {
      if (summary.by_hit_rate[i].requests == 0) continue;
      absl::StrAppend(&text, GroupLine(HitBucketName(i), summary.by_hit_rate[i]));
    }
  }
  return text;
}

}  // namespace

std::string Table(const Result& result, const Summary& summary) {
  std::string text;
  for (const auto& [name, value] : result.facts) absl::StrAppend(&text, TableLine(name, value));
  absl::StrAppend(
      &text, "\n", Headline(result, summary), Distributions(summary), Groups(summary), "\n",
      TableLine(
          "client",
          absl::StrFormat("%.0f%% of one processor; p99 %s late to its own requests",
                          100 * result.client.cpu_share, FormatTimeOf(result.client.lag, 0.99))));
  for (const std::string& warning : Warnings(result, summary)) {
    absl::StrAppend(&text, TableLine("WARNING", warning));
  }
  return text;
}

}  // namespace banyan::loadtest
