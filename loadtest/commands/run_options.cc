#include "loadtest/commands/run_options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "loadtest/commands/options.h"

namespace banyan::loadtest {
namespace {

constexpr const char* kRequest = "Requests";
constexpr const char* kLoad = "Load";
constexpr const char* kBounds = "Bounds";
constexpr const char* kReports = "Reports";
constexpr Tick kLeastTimeout = std::chrono::milliseconds(1);

void AddRequest(CLI::App& app, TypedRun& typed) {
  app.add_option("--temperature", typed.run.temperature, "of sampling")->group(kRequest);
  app.add_flag("!--stop-at-eos", typed.run.ignore_eos,
               "answers end where the model ends them, not at the length that is asked for")
      ->group(kRequest);
  app.add_option("--extra-body", typed.run.extra_body, "JSON members of every request")
      ->type_name("JSON")
      ->group(kRequest);
}

void AddLoad(CLI::App& app, TypedRun& typed) {
  app.add_option("--concurrency", typed.run.concurrency,
                 "closed loop: so many conversations at once (8 when nothing says when to begin)")
      ->group(kLoad);
  app.add_option("--rate", typed.rate, "open loop: conversations a second")->group(kLoad);
  app.add_option("--arrivals", typed.arrivals,
                 "trace (when the source says), poisson (with --rate), gamma or constant")
      ->check(CLI::IsMember({"trace", "poisson", "gamma", "constant"}))
      ->group(kLoad);
  app.add_option("--burstiness", typed.burstiness, "the shape of gamma: < 1 comes in bursts")
      ->group(kLoad);
  AddTime(app, "--ramp", typed.run.ramp, "the load grows over this time")->group(kLoad);
  app.add_option("--ramp-steps", typed.run.ramp_steps, "closed loop: in so many steps")
      ->group(kLoad);
  app.add_option("--max-in-flight", typed.run.max_in_flight, "requests at once at most")
      ->capture_default_str()
      ->group(kLoad);
  app.add_option("--sweep", typed.sweep,
                 "concurrency=1,2,4 or rate=0.5,1,2: one run each, up to the knee")
      ->group(kLoad);
}

void AddBounds(CLI::App& app, TypedRun& typed) {
  AddTime(app, "--warm-up", typed.run.warm_up, "requests before this count in no figure")
      ->group(kBounds);
  AddTime(app, "--duration", typed.run.max_time, "nothing is sent later")->group(kBounds);
  AddTime(app, "--grace", typed.run.grace, "for answers after --duration (30s)")->group(kBounds);
  app.add_option("--requests", typed.run.max_requests, "no more than so many")->group(kBounds);
  AddTime(app, "--timeout", typed.timeout, "a request fails when nothing came for so long (120s)")
      ->group(kBounds);
}

void AddReports(CLI::App& app, TypedRun& typed) {
  app.add_option("--slo", typed.slo, "limits for goodput: ttft=500ms,itl=50ms,e2e=10s")
      ->group(kReports);
  app.add_option("--json", typed.json, "everything, each request too")
      ->type_name("FILE")
      ->group(kReports);
  app.add_option("--csv", typed.csv, "a line per request")->type_name("FILE")->group(kReports);
  app.add_option("--html", typed.html, "a page with plots")->type_name("FILE")->group(kReports);
  AddTime(app, "--metrics-every", typed.run.metrics_every,
          "how often /metrics is asked; 0: never (1s)")
      ->group(kReports);
  app.add_flag("--quiet", typed.quiet, "no progress on stderr")->group(kReports);
}

absl::Status ReadArrivals(const TypedRun& typed, RunCommand& command) {
  ArrivalOptions& arrivals = command.arrivals;
  std::string kind = typed.arrivals;
  if (kind.empty()) kind = typed.rate ? "poisson" : "trace";
  if (kind == "poisson") arrivals.arrivals = Arrivals::kPoisson;
  if (kind == "gamma") arrivals.arrivals = Arrivals::kGamma;
  if (kind == "constant") arrivals.arrivals = Arrivals::kConstant;
  const bool sweeps_rate = command.sweep && command.sweep->over == Sweep::Over::kRate;
  if (sweeps_rate && kind == "trace") arrivals.arrivals = Arrivals::kPoisson;
  if (kind != "trace" && !typed.rate && !sweeps_rate) {
    return absl::InvalidArgumentError("--arrivals " + kind + " needs a --rate");
  }
  if (kind == "trace" && typed.rate) {
    return absl::InvalidArgumentError("--arrivals trace goes with --time-scale, not --rate");
  }
  if (typed.run.concurrency > 0 && (typed.rate || !typed.arrivals.empty() || command.sweep)) {
    return absl::InvalidArgumentError(
        "--concurrency is a closed loop; --rate, --arrivals and --sweep say another load");
  }
  if (command.sweep && (typed.rate || (!sweeps_rate && !typed.arrivals.empty()))) {
    return absl::InvalidArgumentError(
        "--sweep says the load: --rate does not go with it, --arrivals only with rates");
  }
  if (typed.burstiness != 1 && kind != "gamma") {
    return absl::InvalidArgumentError("--burstiness goes with --arrivals gamma");
  }
  arrivals.rate = typed.rate.value_or(1);
  arrivals.burstiness = typed.burstiness;
  arrivals.ramp = typed.run.ramp;
  arrivals.seed = typed.workload.generator.seed;
  command.keep_times = typed.arrivals.empty() && !typed.rate && typed.run.concurrency == 0;
  return absl::OkStatus();
}

}  // namespace

void AddRunOptions(CLI::App& app, TypedRun& typed) {
  AddTargetOptions(app, typed.target);
  AddRequest(app, typed);
  AddLoad(app, typed);
  AddBounds(app, typed);
  AddWorkloadOptions(app, typed.workload);
  AddReports(app, typed);
}

absl::StatusOr<RunCommand> ReadRun(const TypedRun& typed) {
  RunCommand command;
  command.workload = typed.workload;
  command.run = typed.run;
  command.json = typed.json;
  command.csv = typed.csv;
  command.html = typed.html;
  command.quiet = typed.quiet;
  absl::StatusOr<TargetOptions> target = ReadTarget(typed.target);
  if (!target.ok()) return target.status();
  command.run.target = *std::move(target);
  if (typed.timeout < kLeastTimeout) {
    return absl::InvalidArgumentError("--timeout is 1ms at least");
  }
  command.run.target.http.read_timeout =
      std::chrono::ceil<std::chrono::milliseconds>(typed.timeout);
  if (!std::isfinite(typed.run.temperature)) {
    return absl::InvalidArgumentError("--temperature is a number");
  }
  if (!typed.slo.empty()) {
    const absl::StatusOr<Slo> slo = ParseSlo(typed.slo);
    if (!slo.ok()) return slo.status();
    command.slo = *slo;
  }
  if (!typed.sweep.empty()) {
    absl::StatusOr<Sweep> sweep = ParseSweep(typed.sweep);
    if (!sweep.ok()) return sweep.status();
    command.sweep = *std::move(sweep);
  }
  const absl::Status status = ReadArrivals(typed, command);
  if (!status.ok()) return status;
  return command;
}

}  // namespace banyan::loadtest
