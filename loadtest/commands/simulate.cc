#include "loadtest/commands/simulate.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "loadtest/commands/options.h"
#include "loadtest/commands/workload_options.h"
#include "loadtest/simulate/simulate_report.h"
#include "loadtest/workload/arrivals.h"

namespace banyan::loadtest {
namespace {

constexpr const char* kFooter =
    "All combinations of the lists are simulated. Bounds have the defaults of `banyan serve`.\n"
    "\n"
    "Examples:\n"
    "  banyan-loadtest simulate --trace conversation_trace.jsonl.xz --page-tokens 512 \\\n"
    "      --pool-pages 10000,30000,50000,unlimited --serial\n"
    "  banyan-loadtest simulate --trace conversation_trace.jsonl.xz --costs costs.json \\\n"
    "      --pool-pages 50000,100000,200000,unlimited --replicas 4 \\\n"
    "      --routing round-robin,prefix,hash --slo ttft=2s --html pools.html";

constexpr std::size_t kMaxRows = 4096;
constexpr std::size_t kMaxCostBytes = std::size_t{1} << 20;

struct Typed {
  WorkloadOptions workload;
  double rate = 0;
  std::vector<std::int32_t> page_tokens = {16};
  std::vector<std::string> pools = {"unlimited"};
  std::vector<std::string> policies = {"lru"};
  std::vector<std::int32_t> replicas = {1};
  std::vector<std::string> routings = {"round-robin"};
  bool serial = false;
  std::string costs;
  std::string slo;
  scheduler::Options scheduler{.mixed_prefill_tokens = 16};
  std::int64_t kv_bytes_per_token = 0;
  bool json = false;
  std::string html;
  bool quiet = false;
};

absl::Status SetPool(const std::string& text, SimulateOptions& options) {
  options.pool_pages = 0;
  if (text == "unlimited") return absl::OkStatus();
  if (absl::SimpleAtoi(text, &options.pool_pages) && options.pool_pages >= 1 &&
      options.pool_pages <= kMaxPages) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--pool-pages: '", text, "' is neither 1..", kMaxPages, " nor unlimited"));
}

absl::Status SetEviction(const std::string& text, SimulateOptions& options) {
  const auto eviction = radix::ParseEviction(text);
  if (!eviction) {
    return absl::InvalidArgumentError(
        absl::StrCat("--policies: '", text, "' is not lru, fifo, lfu or reuse"));
  }
  options.eviction = *eviction;
  return absl::OkStatus();
}

absl::Status SetRouting(const std::string& text, SimulateOptions& options) {
  const auto routing = ParseRouting(text);
  if (!routing) {
    return absl::InvalidArgumentError(
        absl::StrCat("--routing: '", text, "' is not round-robin, least-loaded, prefix or hash"));
  }
  options.routing = *routing;
  return absl::OkStatus();
}

// Makes of each run as many as there are values.
template <class T, class F>
absl::Status Multiply(const std::vector<T>& values, F set, std::vector<SimulateOptions>& runs) {
  if (runs.size() * values.size() > kMaxRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("the lists have more than ", kMaxRows, " combinations"));
  }
  std::vector<SimulateOptions> product;
  for (const SimulateOptions& run : runs) {
    for (const T& value : values) {
      product.push_back(run);
      if (absl::Status status = set(value, product.back()); !status.ok()) return status;
    }
  }
  runs = std::move(product);
  return absl::OkStatus();
}

// The last list varies first.
absl::StatusOr<std::vector<SimulateOptions>> Runs(const Typed& typed, const SimulateOptions& base) {
  const auto set_replicas = [](std::int32_t value, SimulateOptions& options) {
    options.replicas = value;
    return absl::OkStatus();
  };
  const auto set_page = [](std::int32_t value, SimulateOptions& options) {
    options.page_tokens = value;
    return absl::OkStatus();
  };
  std::vector<SimulateOptions> runs = {base};
  absl::Status status = Multiply(typed.routings, SetRouting, runs);
  if (status.ok()) status = Multiply(typed.replicas, set_replicas, runs);
  if (status.ok()) status = Multiply(typed.policies, SetEviction, runs);
  if (status.ok()) status = Multiply(typed.page_tokens, set_page, runs);
  if (status.ok()) status = Multiply(typed.pools, SetPool, runs);
  if (!status.ok()) return status;
  return runs;
}

// The model itself, or a file that has it.
absl::StatusOr<CostModel> ReadCosts(const std::string& text) {
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "times need --costs, a cost model; --serial counts hits without it");
  }
  if (text.front() == '{') return ParseCostModel(text);
  const absl::StatusOr<std::string> file = ReadWhole(text, kMaxCostBytes);
  if (!file.ok()) return file.status();
  const absl::StatusOr<CostModel> costs = ParseCostModel(*file);
  if (costs.ok()) return costs;
  return absl::InvalidArgumentError(absl::StrCat(text, ": ", costs.status().message()));
}

// What all runs have in common.
absl::StatusOr<SimulateOptions> ReadBase(const Typed& typed) {
  SimulateOptions options;
  options.serial = typed.serial;
  options.scheduler = typed.scheduler;
  if (!typed.serial) {
    const absl::StatusOr<CostModel> costs = ReadCosts(typed.costs);
    if (!costs.ok()) return costs.status();
    options.cost = *costs;
  }
  if (!typed.slo.empty()) {
    const absl::StatusOr<Slo> slo = ParseSlo(typed.slo);
    if (!slo.ok()) return slo.status();
    options.slo = *slo;
  }
  return options;
}

// In serial mode only the order counts, and a source without times has one.
absl::StatusOr<Workload> ReadWorkload(const Typed& typed) {
  absl::StatusOr<Workload> workload = MakeWorkload(typed.workload);
  if (!workload.ok() || (typed.serial && typed.rate == 0)) return workload;
  ArrivalOptions arrivals;
  arrivals.seed = typed.workload.generator.seed;
  if (typed.rate != 0) {
    arrivals.arrivals = Arrivals::kPoisson;
    arrivals.rate = typed.rate;
  }
  if (absl::Status status = SetArrivals(arrivals, *workload); !status.ok()) return status;
  return workload;
}

void ShowProgress(std::size_t done, std::size_t all, const SimulatedRow& row) {
  std::fprintf(stderr, "%zu of %zu: pool %s, page %d, %s, %d x %s: hit rate %.4f\n", done, all,
               PoolText(row.pool_pages).c_str(), row.page_tokens,
               std::string(Name(row.eviction)).c_str(), row.replicas,
               row.routing ? std::string(Name(*row.routing)).c_str() : "serial", row.hit_rate);
}

int RunSimulate(const Typed& typed) {
  const absl::StatusOr<SimulateOptions> base = ReadBase(typed);
  if (!base.ok()) return Fail(base.status());
  const absl::StatusOr<std::vector<SimulateOptions>> runs = Runs(typed, *base);
  if (!runs.ok()) return Fail(runs.status());
  const absl::StatusOr<Workload> workload = ReadWorkload(typed);
  if (!workload.ok()) return Fail(workload.status());
  ShowBadLines(*workload);
  SimulateReport report{.source = workload->source,
                        .serial = base->serial,
                        .cost = base->cost,
                        .slo = base->slo,
                        .kv_bytes_per_token = typed.kv_bytes_per_token,
                        .rows = {}};
  for (const SimulateOptions& options : *runs) {
    absl::StatusOr<SimulatedRow> row = Simulate(*workload, options);
    if (!row.ok()) return Fail(row.status());
    if (!typed.quiet) ShowProgress(report.rows.size() + 1, runs->size(), *row);
    report.rows.push_back(*std::move(row));
  }
  const bool printed = Print(typed.json ? Json(report) : Table(report));
  const bool written = typed.html.empty() || WriteReport(typed.html, Page(report));
  return printed && written ? kExitOk : kExitUsage;
}

void AddLists(CLI::App& app, Typed& typed) {
  const auto list = [&app](const std::string& name, auto& target, const std::string& help) {
    app.add_option(name, target, help)->delimiter(',')->capture_default_str()->group("Caches");
  };
  list("--pool-pages", typed.pools, "pages of each replica's pool, or unlimited");
  list("--page-tokens", typed.page_tokens, "tokens of a page");
  list("--policies", typed.policies, "eviction: lru, fifo, lfu, reuse");
  list("--replicas", typed.replicas, "servers with a pool each");
  list("--routing", typed.routings, "round-robin, least-loaded, prefix, hash");
}

void AddTimes(CLI::App& app, Typed& typed) {
  const auto add = [&app](const std::string& name, auto& target, const std::string& help) {
    return app.add_option(name, target, help)->group("Times");
  };
  app.add_flag("--serial", typed.serial,
               "no concurrency and no times: whole blocks are counted, at their arrival")
      ->group("Times");
  add("--costs", typed.costs, "a cost model, as JSON or a file of it: that of `calibrate`")
      ->type_name("FILE");
  add("--rate", typed.rate, "conversations a second (Poisson) instead of the source's times");
  add("--slo", typed.slo, "limits of goodput: ttft=2s,itl=50ms,e2e=30s");
  add("--max-running", typed.scheduler.max_running, "requests that run at once, on one replica")
      ->capture_default_str();
  add("--max-batch-tokens", typed.scheduler.max_batch_tokens, "of one step")->capture_default_str();
  add("--mixed-prefill-tokens", typed.scheduler.mixed_prefill_tokens,
      "of prompts in a step that also decodes, n times as many where n wait for each that decodes")
      ->capture_default_str();
  add("--context", typed.scheduler.context_length,
      "longer requests are refused; by default the longest one fits");
}

}  // namespace

void AddSimulate(CLI::App& app, int& status) {
  CLI::App* simulate = app.add_subcommand(
      "simulate", "what a workload would find in prefix caches of several sizes");
  simulate->footer(kFooter);
  const auto typed = std::make_shared<Typed>();
  AddWorkloadOptions(*simulate, typed->workload);
  AddLists(*simulate, *typed);
  AddTimes(*simulate, *typed);
  simulate
      ->add_option("--kv-bytes-per-token", typed->kv_bytes_per_token,
                   "of the model, to tell pools in GiB too")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  simulate->add_flag("--json", typed->json, "JSON on stdout instead of a table");
  simulate->add_option("--html", typed->html, "write a page with plots")->type_name("FILE");
  simulate->add_flag("--quiet", typed->quiet, "no progress on stderr");
  simulate->callback([typed, &status] { status = RunSimulate(*typed); });
}

}  // namespace banyan::loadtest
