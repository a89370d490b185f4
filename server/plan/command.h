// `banyan plan`: what a model and its users take of memory. No weight is read.
#pragma once

#include "absl/status/statusor.h"
#include "server/options.h"
#include "server/plan/report.h"

namespace banyan::server {

// Errors are one line: the model's file cannot be read, or the workload contradicts itself or the
// model.
absl::StatusOr<PlanReport> MakePlanReport(const PlanOptions& options);

// Prints on stdout. Returns the exit code: 1 with one line on stderr, or {"error": ...} on stdout.
int RunPlan(const PlanOptions& options);

}  // namespace banyan::server
