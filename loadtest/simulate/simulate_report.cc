#include "loadtest/simulate/simulate_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace banyan::loadtest {
namespace {

namespace json = boost::json;

constexpr double kNanosecondsPerMs = 1e6;
constexpr std::array<std::pair<const char*, double>, 4> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}};

double Ms(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / kNanosecondsPerMs; }

json::object Quantiles(const Histogram& times) {
  json::object object;
  object["mean"] = times.mean() / kNanosecondsPerMs;
  for (const auto& [name, q] : kQuantiles) object[name] = Ms(times.Quantile(q));
  object["max"] = Ms(times.max());
  return object;
}

json::object JsonOf(const Summary& summary) {
  json::object object;
  object["seconds"] = Seconds(summary.measured);
  object["requests_per_second"] = summary.requests_per_second;
  object["output_tokens_per_second"] = summary.tokens_per_second;
  object["goodput"] = summary.goodput;
  object["slo_share"] = summary.slo_share;
  object["ttft_ms"] = Quantiles(summary.all.ttft_scheduled);
  object["itl_ms"] = Quantiles(summary.inter_token);
  object["latency_ms"] = Quantiles(summary.all.latency);
  return object;
}

json::object JsonOf(const SimulateReport& report, const SimulatedRow& row) {
  json::object object;
  if (row.pool_pages == 0) {
    object["pool_pages"] = "unlimited";
  } else {
    object["pool_pages"] = row.pool_pages;
  }
  if (const auto gib = Gib(report, row)) object["pool_gib"] = *gib;
  object["page_tokens"] = row.page_tokens;
  const auto policy = Name(row.eviction);
  object["policy"] = json::string_view(policy.data(), policy.size());
  object["replicas"] = row.replicas;
  if (row.routing) {
    const auto routing = Name(*row.routing);
    object["routing"] = json::string_view(routing.data(), routing.size());
  }
  object["hit_rate"] = row.hit_rate;
  object["requests"] = row.requests;
  object["refused"] = row.refused;
  object["prompt_tokens"] = row.prompt_tokens;
  object["cached_tokens"] = row.cached_tokens;
  object["evicted_pages"] = row.evicted_pages;
  object["preemptions"] = row.preemptions;
  object["most_pages"] = row.most_pages;
  if (row.summary) {
    for (auto& member : JsonOf(*row.summary)) object[member.key()] = member.value();
  }
  return object;
}

// Whether rows differ in it.
template <class T>
bool Differs(const SimulateReport& report, T SimulatedRow::*member) {
  return std::any_of(report.rows.begin(), report.rows.end(), [&](const SimulatedRow& row) {
    return row.*member != report.rows[0].*member;
  });
}

// Of what rows differ in, and the policy.
std::string CurveName(const SimulateReport& report, const SimulatedRow& row) {
  std::string name(Name(row.eviction));
  if (Differs(report, &SimulatedRow::page_tokens)) {
    absl::StrAppend(&name, ", pages of ", row.page_tokens);
  }
  if (Differs(report, &SimulatedRow::replicas)) {
    absl::StrAppend(&name, ", ", row.replicas, " replicas");
  }
  if (Differs(report, &SimulatedRow::routing)) {
    absl::StrAppend(&name, ", ", std::string(Name(*row.routing)));
  }
  return name;
}

void FindKnee(const SimulateReport& report, PoolCurve& curve) {
  if (curve.rows.size() < 2) return;
  const double wanted = kKneeShare * report.rows[curve.rows.back()].hit_rate;
  curve.knee = *std::find_if(curve.rows.begin(), curve.rows.end(),
                             [&](std::size_t row) { return report.rows[row].hit_rate >= wanted; });
}

}  // namespace

std::string KneeLine(const SimulateReport& report, const PoolCurve& curve) {
  const SimulatedRow& knee = report.rows[*curve.knee];
  const SimulatedRow& last = report.rows[curve.rows.back()];
  const char* const of = last.pool_pages == 0 ? "an unlimited pool" : "the largest pool";
  if (&knee == &last) {
    return absl::StrFormat("no knee: no smaller pool has %.0f%% of the hit rate %.4f of %s",
                           100 * kKneeShare, last.hit_rate, of);
  }
  std::string line = absl::StrCat("knee at ", PoolText(knee.pool_pages), " pages");
  if (const auto gib = Gib(report, knee)) absl::StrAppendFormat(&line, " (%.1f GiB)", *gib);
  absl::StrAppendFormat(&line, ": hit rate %.4f of %.4f with %s", knee.hit_rate, last.hit_rate, of);
  return line;
}

std::optional<double> Gib(const SimulateReport& report, const SimulatedRow& row) {
  if (report.kv_bytes_per_token == 0 || row.pool_pages == 0) return std::nullopt;
  return static_cast<double>(row.pool_pages) * row.page_tokens *
         static_cast<double>(report.kv_bytes_per_token) / static_cast<double>(1 << 30);
}

std::string PoolText(std::int64_t pool_pages) {
  return pool_pages == 0 ? "unlimited" : absl::StrCat(pool_pages);
}

std::vector<PoolCurve> Curves(const SimulateReport& report) {
  std::vector<PoolCurve> curves;
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const std::string name = CurveName(report, report.rows[i]);
    auto curve = std::find_if(curves.begin(), curves.end(),
                              [&](const PoolCurve& at) { return at.name == name; });
    if (curve == curves.end()) curve = curves.insert(curves.end(), {name, {}, std::nullopt});
    curve->rows.push_back(i);
  }
  for (PoolCurve& curve : curves) {
    // As unsigned numbers 0, which is unlimited, less one is the largest.
    const auto size = [&](std::size_t row) {
      return static_cast<std::uint64_t>(report.rows[row].pool_pages) - 1;
    };
    std::stable_sort(curve.rows.begin(), curve.rows.end(),
                     [&](std::size_t a, std::size_t b) { return size(a) < size(b); });
    FindKnee(report, curve);
  }
  return curves;
}

std::string Json(const SimulateReport& report) {
  json::object object;
  object["schema"] = "banyan-loadtest-simulate/1";
  object["source"] = report.source;
  object["mode"] = report.serial ? "serial" : "full";
  if (!report.serial) object["cost"] = json::parse(Json(report.cost));
  if (report.slo.any()) object["slo"] = Text(report.slo);
  if (report.kv_bytes_per_token > 0) object["kv_bytes_per_token"] = report.kv_bytes_per_token;
  json::array& rows = object["rows"].emplace_array();
  for (const SimulatedRow& row : report.rows) rows.push_back(JsonOf(report, row));
  json::array& knees = object["knees"].emplace_array();
  for (const PoolCurve& curve : Curves(report)) {
    if (!curve.knee) continue;
    knees.push_back({{"curve", curve.name}, {"row", *curve.knee}});
  }
  return json::serialize(object) + "\n";
}

std::string Table(const SimulateReport& report) {
  std::string table = absl::StrFormat("%10s %8s %4s %-5s %4s %-12s %6s %8s", "pool pages", "GiB",
                                      "page", "evict", "repl", "routing", "hits", "refused");
  if (!report.serial) {
    absl::StrAppendFormat(&table, " %8s %8s %7s %7s", "TTFT p50", "p99 (s)", "req/s", "goodput");
  }
  table += "\n";
  for (const SimulatedRow& row : report.rows) {
    const auto gib = Gib(report, row);
    absl::StrAppendFormat(&table, "%10s %8s %4d %-5s %4d %-12s %6.4f %8d", PoolText(row.pool_pages),
                          gib ? absl::StrFormat("%.1f", *gib) : "-", row.page_tokens,
                          std::string(Name(row.eviction)), row.replicas,
                          row.routing ? std::string(Name(*row.routing)) : "-", row.hit_rate,
                          row.refused);
    if (row.summary) {
      const Histogram& ttft = row.summary->all.ttft_scheduled;
      absl::StrAppendFormat(&table, " %8.3f %8.3f %7.2f %7.2f", Ms(ttft.Quantile(0.5)) / 1000,
                            Ms(ttft.Quantile(0.99)) / 1000, row.summary->requests_per_second,
                            row.summary->goodput);
    }
    table += "\n";
  }
  for (const PoolCurve& curve : Curves(report)) {
    if (curve.knee) absl::StrAppend(&table, curve.name, ":\n  ", KneeLine(report, curve), "\n");
  }
  return table;
}

}  // namespace banyan::loadtest
