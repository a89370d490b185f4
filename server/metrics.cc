#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <iterator>
#include <vector>

#include "base/check.h"

namespace banyan::server {
namespace {

// A second exposition of the same value; label may be null.
struct Alias {
  const char* name = nullptr;
  const char* label = nullptr;
  const char* label_value = nullptr;
};

template <class Id>
struct Row {
  Id id;
  const char* name;
  const char* help;
  const char* label = nullptr;  // rows of one family have the same name
  const char* label_value = nullptr;
  Alias alias = {};
  Alias second_alias = {};
};

constexpr const char* kRequests = "banyan_requests_total";
constexpr const char* kRequestsHelp = "Requests that ended, by how.";
constexpr const char* kSuccess = "vllm:request_success_total";
constexpr const char* kDropped = "banyan_kv_policy_dropped_tokens_total";
constexpr const char* kDroppedHelp = "Tokens whose KV their request's policy dropped.";

constexpr Row<Counter> kCounters[] = {
    {Counter::kRequestsStop,
     kRequests,
     kRequestsHelp,
     "finish_reason",
     "stop",
     {kSuccess, "finished_reason", "stop"}},
    {Counter::kRequestsLength,
     kRequests,
     kRequestsHelp,
     "finish_reason",
     "length",
     {kSuccess, "finished_reason", "length"}},
    {Counter::kRequestsCancelled,
     kRequests,
     kRequestsHelp,
     "finish_reason",
     "cancelled",
     {kSuccess, "finished_reason", "abort"}},
    {Counter::kRequestsSlowReader, kRequests, kRequestsHelp, "finish_reason", "slow_reader"},
    {Counter::kRequestsFailed, kRequests, kRequestsHelp, "finish_reason", "failed"},
    {Counter::kRequestsRefused, kRequests, kRequestsHelp, "finish_reason", "refused"},
    {Counter::kRequestsShutdown, kRequests, kRequestsHelp, "finish_reason", "shutdown"},
    {Counter::kPromptTokens,
     "banyan_prompt_tokens_total",
     "Prompt tokens of admitted requests, counted once per request.",
     nullptr,
     nullptr,
     {"vllm:prompt_tokens_total"},
     {"vllm:prefix_cache_queries_total"}},
    {Counter::kCachedPromptTokens,
     "banyan_cached_prompt_tokens_total",
     "Prompt tokens found in the prefix cache (hits), counted once per request.",
     nullptr,
     nullptr,
     {"vllm:prefix_cache_hits_total"}},
    {Counter::kMissedPromptTokens, "banyan_missed_prompt_tokens_total",
     "Prompt tokens not found in the prefix cache (misses), counted once per request."},
    {Counter::kComputedPromptTokens, "banyan_computed_prompt_tokens_total",
     "Prompt tokens that steps have computed, for the first time in their request."},
    {Counter::kRecomputedTokens, "banyan_recomputed_tokens_total",
     "Tokens of prompts and answers computed again after a preemption."},
    {Counter::kGeneratedTokens,
     "banyan_generated_tokens_total",
     "Output tokens of ended requests, as their usage says.",
     nullptr,
     nullptr,
     {"vllm:generation_tokens_total"}},
    {Counter::kSampledTokens, "banyan_sampled_tokens_total",
     "Tokens sampled so far, also those behind a stop string or of requests still running."},
    {Counter::kEvictedPages, "banyan_kv_evicted_pages_total", "Pages evicted from the tree."},
    {Counter::kDeduplicatedPages, "banyan_kv_deduplicated_pages_total",
     "Pages computed twice and shared when they were full."},
    {Counter::kCopiedPages, "banyan_kv_copied_pages_total",
     "Partly matching pages that were copied on write."},
    {Counter::kDroppedByStreaming, kDropped, kDroppedHelp, "policy", "streaming"},
    {Counter::kDroppedByH2o, kDropped, kDroppedHelp, "policy", "h2o"},
    {Counter::kDroppedByScissorhands, kDropped, kDroppedHelp, "policy", "scissorhands"},
    {Counter::kDroppedBySnapKv, kDropped, kDroppedHelp, "policy", "snapkv"},
    {Counter::kDroppedByQuest, kDropped, kDroppedHelp, "policy", "quest"},
    {Counter::kPreemptions,
     "banyan_preemptions_total",
     "Running requests that gave up their pages to others, to resume later.",
     nullptr,
     nullptr,
     {"vllm:num_preemptions_total"}},
    {Counter::kPassedOver, "banyan_passed_over_total",
     "Admissions while a request of the same tenant and priority waited longer."},
    {Counter::kSteps, "banyan_steps_total", "Engine steps."},
    {Counter::kFailedSteps, "banyan_failed_steps_total", "Engine steps that failed."},
    {Counter::kDeviceFailures, "banyan_device_failures_total",
     "Failures of the device that computes: after one the server is not ready any more."},
};

constexpr const char* kPages = "banyan_kv_pages";
constexpr const char* kPagesHelp = "Pages of the KV pool by state; the states sum to the pool.";

constexpr Row<Gauge> kGauges[] = {
    {Gauge::kRunning,
     "banyan_running_requests",
     "Requests admitted and not ended.",
     nullptr,
     nullptr,
     {"vllm:num_requests_running"}},
    {Gauge::kWaiting,
     "banyan_waiting_requests",
     "Requests waiting for admission, preempted and following ones among them.",
     nullptr,
     nullptr,
     {"vllm:num_requests_waiting"}},
    {Gauge::kFollowing, "banyan_following_requests",
     "Waiting requests whose prefix a running request is computing."},
    {Gauge::kPagesFree, kPages, kPagesHelp, "state", "free"},
    {Gauge::kPagesCopying, kPages, kPagesHelp, "state", "copying"},
    {Gauge::kPagesOpen, kPages, kPagesHelp, "state", "open"},
    {Gauge::kPagesPrivate, kPages, kPagesHelp, "state", "private"},
    {Gauge::kPagesTree, kPages, kPagesHelp, "state", "tree"},
    {Gauge::kPagesDetached, kPages, kPagesHelp, "state", "detached"},
    {Gauge::kPageBytes, "banyan_kv_page_bytes", "Bytes of one page, all layers."},
    {Gauge::kEvictablePages, "banyan_kv_evictable_pages", "Tree pages that nothing pins."},
    {Gauge::kReservedPages, "banyan_kv_reserved_pages",
     "Pages promised to running requests and not yet taken."},
    {Gauge::kCachedTokens, "banyan_cached_tokens", "Tokens whose KV the tree holds."},
    {Gauge::kTreeNodes, "banyan_tree_nodes", "Nodes of the prefix tree."},
    {Gauge::kNamespaces, "banyan_namespaces",
     "Namespaces that are remembered: pairs of tenant and salt."},
    {Gauge::kKvUsage,
     "banyan_kv_usage_ratio",
     "Share of the pool that is neither free nor evictable, 0 to 1.",
     nullptr,
     nullptr,
     {"vllm:kv_cache_usage_perc"}},
    {Gauge::kReady, "banyan_ready", "1 while /ready answers 200."},
};

using Buckets = prometheus::Histogram::BucketBoundaries;

// Three shapes of buckets serve all histograms.
enum class Scale : std::uint8_t { kLatency, kAge, kTokens };

Buckets BucketsOf(Scale scale) {
  switch (scale) {
    case Scale::kLatency:  // seconds
      return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
              0.25,   0.5,     1,      2.5,   5,      10,    25,   50,    100};
    case Scale::kAge:  // seconds
      return {0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 14'400, 86'400};
    case Scale::kTokens:
      return {0, 1, 16, 64, 256, 1024, 4096, 16'384, 65'536, 262'144};
  }
  return {};
}

struct HistogramRow {
  Histogram id;
  const char* name;
  const char* help;
  Scale scale;
  const char* alias = nullptr;
};

constexpr HistogramRow kHistograms[] = {
    {Histogram::kQueue, "banyan_queue_seconds", "From submission to admission.", Scale::kLatency,
     "vllm:request_queue_time_seconds"},
    {Histogram::kPrefill, "banyan_prefill_seconds", "From admission to the first token.",
     Scale::kLatency, "vllm:request_prefill_time_seconds"},
    {Histogram::kDecode, "banyan_decode_seconds", "From the first token to the end.",
     Scale::kLatency, "vllm:request_decode_time_seconds"},
    {Histogram::kTimeToFirstToken, "banyan_time_to_first_token_seconds",
     "From submission to the first token.", Scale::kLatency, "vllm:time_to_first_token_seconds"},
    {Histogram::kInterToken, "banyan_inter_token_seconds", "Between two tokens of one request.",
     Scale::kLatency, "vllm:inter_token_latency_seconds"},
    {Histogram::kEndToEnd, "banyan_end_to_end_seconds", "From submission to the end.",
     Scale::kLatency, "vllm:e2e_request_latency_seconds"},
    {Histogram::kStep, "banyan_step_seconds", "The model's part of one engine step.",
     Scale::kLatency},
    {Histogram::kHitTokens, "banyan_hit_tokens", "Cached prompt tokens per request.",
     Scale::kTokens},
    {Histogram::kPageLifetime, "banyan_kv_page_lifetime_seconds",
     "Time an evicted page was in the tree.", Scale::kAge},
    {Histogram::kIdleBeforeEviction, "banyan_kv_page_idle_seconds",
     "Time since an evicted page was last used.", Scale::kAge},
    {Histogram::kReuseGap, "banyan_kv_page_reuse_gap_seconds",
     "Time between two uses of a node of the tree.", Scale::kAge},
};

template <class Id>
constexpr std::size_t Index(Id id) {
  return static_cast<std::size_t>(id);
}

static_assert(std::size(kCounters) == Index(Counter::kEnd));
static_assert(std::size(kGauges) == Index(Gauge::kEnd));
static_assert(std::size(kHistograms) == Index(Histogram::kEnd));

template <class Metric>
struct Cell {
  Metric* own = nullptr;
  std::array<Metric*, 2> aliases = {};  // null: none

  void ForEach(const auto& change) const {
    change(*own);
    for (Metric* alias : aliases) {
      if (alias != nullptr) change(*alias);
    }
  }
};

}  // namespace

struct Metrics::Cells {
  explicit Cells(std::string name) : model_name(std::move(name)) {}

  template <class Metric, class Builder>
  Metric& Make(Builder builder, const char* name, const char* help, prometheus::Labels labels) {
    return builder.Name(name).Help(help).Register(registry).Add(labels);
  }

  template <class Metric, class Builder>
  Metric* MakeAlias(Builder builder, const Alias& alias, const char* help) {
    if (alias.name == nullptr) return nullptr;
    prometheus::Labels labels = {{"model_name", model_name}};
    if (alias.label != nullptr) labels[alias.label] = alias.label_value;
    return &Make<Metric>(builder, alias.name, help, labels);
  }

  template <class Metric, class Builder, class Id>
  Cell<Metric> FromRow(Builder builder, const Row<Id>& row) {
    Cell<Metric> cell;
    prometheus::Labels labels;
    if (row.label != nullptr) labels[row.label] = row.label_value;
    cell.own = &Make<Metric>(builder, row.name, row.help, labels);
    cell.aliases = {MakeAlias<Metric>(builder, row.alias, row.help),
                    MakeAlias<Metric>(builder, row.second_alias, row.help)};
    return cell;
  }

  const std::string model_name;
  prometheus::Registry registry;
  std::array<Cell<prometheus::Counter>, Index(Counter::kEnd)> counters;
  std::array<Cell<prometheus::Gauge>, Index(Gauge::kEnd)> gauges;
  std::array<Cell<prometheus::Histogram>, Index(Histogram::kEnd)> histograms;
  prometheus::Family<prometheus::Counter>* http_errors = nullptr;
};

Metrics::Metrics(std::string model_name) : cells_(std::make_unique<Cells>(std::move(model_name))) {
  for (const Row<Counter>& row : kCounters) {
    cells_->counters[Index(row.id)] =
        cells_->FromRow<prometheus::Counter>(prometheus::BuildCounter(), row);
  }
  for (const Row<Gauge>& row : kGauges) {
    cells_->gauges[Index(row.id)] =
        cells_->FromRow<prometheus::Gauge>(prometheus::BuildGauge(), row);
  }
  for (const HistogramRow& row : kHistograms) {
    auto make = [&](const char* name, const prometheus::Labels& labels) {
      return &prometheus::BuildHistogram()
                  .Name(name)
                  .Help(row.help)
                  .Register(cells_->registry)
                  .Add(labels, BucketsOf(row.scale));
    };
    Cell<prometheus::Histogram>& cell = cells_->histograms[Index(row.id)];
    cell.own = make(row.name, {});
    if (row.alias != nullptr) {
      cell.aliases[0] = make(row.alias, {{"model_name", cells_->model_name}});
    }
  }
  cells_->http_errors = &prometheus::BuildCounter()
                             .Name("banyan_http_errors_total")
                             .Help("Error answers to API requests, by the error's code.")
                             .Register(cells_->registry);
  cells_
      ->Make<prometheus::Gauge>(prometheus::BuildGauge(), "banyan_build_info",
                                "Always 1; the version is a label.", {{"version", BANYAN_VERSION}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::Add(Counter counter, double amount) {
  DCHECK(amount >= 0);
  cells_->counters[Index(counter)].ForEach([&](auto& one) { one.Increment(amount); });
}

void Metrics::Set(Gauge gauge, double value) {
  cells_->gauges[Index(gauge)].ForEach([&](auto& one) { one.Set(value); });
}

void Metrics::Observe(Histogram histogram, double value) {
  cells_->histograms[Index(histogram)].ForEach([&](auto& one) { one.Observe(value); });
}

void Metrics::CountHttpError(std::string_view code) {
  cells_->http_errors->Add({{"code", std::string(code)}}).Increment();
}

void Metrics::SetCacheShape(std::int32_t page_size, std::int32_t pages, const std::string& dtype) {
  cells_
      ->Make<prometheus::Gauge>(prometheus::BuildGauge(), "vllm:cache_config_info",
                                "Always 1; the shape of the page pool is in the labels.",
                                {{"model_name", cells_->model_name},
                                 {"cache_dtype", dtype},
                                 {"block_size", std::to_string(page_size)},
                                 {"num_gpu_blocks", std::to_string(pages)}})
      .Set(1);
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(cells_->registry.Collect());
}

}  // namespace banyan::server
