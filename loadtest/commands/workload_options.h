// The options that say what is asked: a trace or the generator, and how it is fitted.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/App.hpp>

#include "absl/status/statusor.h"
#include "loadtest/workload/generator.h"
#include "loadtest/workload/trace.h"
#include "loadtest/workload/transform.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

struct WorkloadOptions {
  std::string trace;  // "": the generator
  std::string format = "auto";
  bool skip_bad_lines = false;
  std::int64_t max_requests = 0;  // of the trace that are read
  std::uint64_t salt = 0;
  GeneratorOptions generator;
  Fit fit;
};

// `options` outlives the app.
void AddWorkloadOptions(CLI::App& app, WorkloadOptions& options);

// Read or made, salted and fitted.
absl::StatusOr<Workload> MakeWorkload(const WorkloadOptions& options);

// On stderr, what was skipped.
void ShowBadLines(const Workload& workload);

}  // namespace banyan::loadtest
