// The options of `banyan-loadtest run`.
#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "absl/status/statusor.h"
#include "loadtest/commands/target_options.h"
#include "loadtest/commands/workload_options.h"
#include "loadtest/measure/summary.h"
#include "loadtest/run/run.h"
#include "loadtest/run/sweep.h"
#include "loadtest/workload/arrivals.h"

namespace banyan::loadtest {

// As typed.
struct TypedRun {
  TypedTarget target;
  Tick timeout = std::chrono::seconds(120);  // that nothing came
  std::string arrivals;
  std::optional<double> rate;
  double burstiness = 1;
  std::string sweep;
  std::string slo;
  WorkloadOptions workload;
  RunOptions run;
  std::string json, csv, html;
  bool quiet = false;
};

struct RunCommand {
  WorkloadOptions workload;
  RunOptions run;
  ArrivalOptions arrivals;
  bool keep_times = false;  // neither a rate nor a concurrency was asked for
  std::optional<Sweep> sweep;
  Slo slo;
  std::string json, csv, html;  // "": not written
  bool quiet = false;
};

// `typed` outlives the app.
void AddRunOptions(CLI::App& app, TypedRun& typed);

// kInvalidArgument says which option is wrong.
absl::StatusOr<RunCommand> ReadRun(const TypedRun& typed);

}  // namespace banyan::loadtest
