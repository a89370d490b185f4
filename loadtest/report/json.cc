#include <cmath>

#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "loadtest/report/format.h"
#include "loadtest/report/json_fields.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

namespace bj = boost::json;

// A server's words need not be UTF-8, a JSON's must.
bj::string String(std::string_view text) { return bj::string(ToValidUtf8(text)); }

bj::value Number(double number) {
  return std::isfinite(number) ? bj::value(number) : bj::value(nullptr);
}

bj::object Raw(const Histogram& histogram) {
  bj::array buckets;
  for (const auto& [value, count] : histogram.Buckets()) {
    buckets.push_back(bj::array{value, count});
  }
  return {{"count", histogram.count()},
          {"min", histogram.min()},
          {"max", histogram.max()},
          {"sum", histogram.sum()},
          {"buckets", std::move(buckets)}};
}

double Ms(double ns) { return ns / 1e6; }

bj::object Figures(const Histogram& histogram) {
  if (histogram.count() == 0) return {{"count", 0}};
  const auto at = [&](double q) { return Ms(static_cast<double>(histogram.Quantile(q))); };
  return {{"count", histogram.count()},
          {"mean_ms", Ms(histogram.mean())},
          {"min_ms", Ms(static_cast<double>(histogram.min()))},
          {"p50_ms", at(0.5)},
          {"p90_ms", at(0.9)},
          {"p95_ms", at(0.95)},
          {"p99_ms", at(0.99)},
          {"p99.9_ms", at(0.999)},
          {"max_ms", Ms(static_cast<double>(histogram.max()))}};
}

bj::object Figures(const Group& group) {
  bj::object object = {{"requests", group.requests},
                       {"prompt_tokens", group.prompt_tokens},
                       {"cached_tokens", group.cached_tokens}};
  if (const auto rate = group.hit_rate()) object["hit_rate"] = *rate;
  object["ttft_scheduled"] = Figures(group.ttft_scheduled);
  object["ttft"] = Figures(group.ttft);
  object["tpot"] = Figures(group.tpot);
  object["latency"] = Figures(group.latency);
  return object;
}

bj::object Failed(const Summary& summary) {
  bj::object kinds;
  for (int i = 1; i < kOutcomes; ++i) {
    if (summary.outcomes[i] == 0) continue;
    kinds[bj::string(Name(static_cast<Outcome>(i)))] = summary.outcomes[i];
  }
  return kinds;
}

bj::object Figures(const Summary& summary) {
  bj::object object = {{"measured_s", Seconds(summary.measured)},
                       {"requests", summary.requests()},
                       {"ok", summary.all.requests},
                       {"failed", Failed(summary)},
                       {"requests_per_second", summary.requests_per_second},
                       {"output_tokens", summary.output_tokens},
                       {"output_tokens_per_second", summary.tokens_per_second},
                       {"goodput", summary.goodput},
                       {"slo_share", summary.slo_share},
                       {"usage_missing", summary.usage_missing},
                       {"client_limited", summary.client_limited}};
  object["inter_token"] = Figures(summary.inter_token);
  object["queueing"] = Figures(summary.queueing);
  object["all"] = Figures(summary.all);
  bj::array turns;
  for (const auto& [turn, group] : summary.by_turn) {
    bj::object row = {{"turn", TurnName(turn)}};
    for (auto& [name, value] : Figures(group)) row[name] = value;
    turns.push_back(std::move(row));
  }
  object["by_turn"] = std::move(turns);
  bj::array buckets;
  for (int i = 0; i < kHitBuckets; ++i) {
    if (summary.by_hit_rate[i].requests == 0) continue;
    bj::object row = {{"cached", HitBucketName(i)}};
    for (auto& [name, value] : Figures(summary.by_hit_rate[i])) row[name] = value;
    buckets.push_back(std::move(row));
  }
  object["by_hit_rate"] = std::move(buckets);
  return object;
}

bj::object Row(const Record& record) {
  bj::object row = {{"conversation", record.conversation},
                    {"turn", record.turn},
                    {"outcome", Name(record.outcome)},
                    {"status", record.status},
                    {"content_events", record.content_events},
                    {"wanted_prompt_tokens", record.wanted_prompt_tokens}};
  for (const auto& [name, time] : json::kTimes) row[name] = (record.*time).count();
  if (record.first_content) row["first_content_ns"] = record.first_content->count();
  for (const auto& [name, tokens] : json::kUsage) {
    if (record.*tokens >= 0) row[name] = record.*tokens;
  }
  if (!record.finish_reason.empty()) row["finish_reason"] = String(record.finish_reason);
  if (!record.error.empty()) row["error"] = String(record.error);
  return row;
}

bj::object Row(const Second& second) {
  bj::object row = {{"in_flight", second.in_flight}};
  for (const auto& [name, count] : json::kSecond) row[name] = second.*count;
  return row;
}

bj::object Row(const ServerSample& sample) {
  bj::object row = {{"at_ns", sample.at.count()}};
  for (const auto& [name, value] : json::kServer) row[name] = Number(sample.*value);
  return row;
}

// One row a line: a report is long, and the tools that show lines should be able to show it.
template <typename Rows>
void AppendRows(const char* name, const Rows& rows, std::string& text) {
  absl::StrAppend(&text, ",\n\"", name, "\": [");
  const char* before = "\n";
  for (const auto& row : rows) {
    absl::StrAppend(&text, before, bj::serialize(Row(row)));
    before = ",\n";
  }
  absl::StrAppend(&text, "\n]");
}

}  // namespace

std::string Json(const Report& report) {
  const Result& result = report.result;
  bj::object facts;
  for (const auto& [name, value] : result.facts) facts[String(name)] = String(value);
  bj::object slo;
  for (const auto& [name, limit] : json::kSlo) {
    if (report.slo.*limit) slo[name] = (report.slo.*limit)->count();
  }
  const bj::object client = {{"cpu_share", Number(result.client.cpu_share)},
                             {"lag_ns", Raw(result.client.lag)}};
  std::string text;
  const auto member = [&](const char* name, const bj::value& value) {
    absl::StrAppend(&text, text.empty() ? "{\n\"" : ",\n\"", name, "\": ", bj::serialize(value));
  };
  member("schema", json::kSchema);
  member("facts", facts);
  member("slo", slo);
  member("warm_up_ns", result.warm_up.count());
  member("duration_ns", result.duration.count());
  member("interrupted", result.interrupted);
  member("summary", Figures(Summarize(result, report.slo)));
  member("inter_token_ns", Raw(result.inter_token));
  member("client", client);
  AppendRows("timeline", result.timeline, text);
  AppendRows("server", result.server, text);
  AppendRows("requests", result.records, text);
  return text + "\n}\n";
}

}  // namespace banyan::loadtest
