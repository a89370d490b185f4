#include "server/plan/command.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "server/fail.h"
#include "server/plan/explain.h"
#include "server/plan/notes.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

absl::StatusOr<Subject> SubjectOf(const PlanOptions& options) {
  absl::StatusOr<Subject> subject = Subject();
  if (options.shape) {
    subject->shape = *options.shape;
  } else {
    subject = ReadSubject(options.source);
    if (!subject.ok()) {
      return absl::Status(subject.status().code(),
                          absl::StrCat(options.source, ": ", subject.status().message()));
    }
  }
  if (options.weights) {
    subject->weights = Weights{.bytes = *options.weights, .from = WeightsFrom::kCommandLine};
  }
  return subject;
}

// The workload with what the model adds to it: its context, and what its weights leave.
absl::StatusOr<Workload> WorkloadOf(const PlanOptions& options, const Subject& subject) {
  Workload workload = options.workload;
  if (workload.context == 0) workload.context = subject.context_length;
  if (workload.context == 0 && (workload.sessions > 0 || workload.shared_prefix > 0)) {
    return absl::InvalidArgumentError("--context is needed: the model does not tell its own");
  }
  if (workload.shared_prefix > 0 && workload.shared_prefix >= workload.context) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shared-prefix: ", workload.shared_prefix, " must be under the context of ",
                     workload.context, " tokens, for each session has at least one of its own"));
  }
  if (!options.memory) return workload;
  const std::int64_t weights = subject.weights ? subject.weights->bytes : 0;
  if (*options.memory <= weights) {
    return absl::InvalidArgumentError(
        absl::StrCat("--memory: the weights take ", RoundedBytes(weights), ", and ",
                     RoundedBytes(*options.memory), " leave nothing for KV pages"));
  }
  workload.kv_memory = std::min(*options.memory - weights, kMaxKvMemory);
  return workload;
}

}  // namespace

absl::StatusOr<PlanReport> MakePlanReport(const PlanOptions& options) {
  absl::StatusOr<Subject> subject = SubjectOf(options);
  if (!subject.ok()) return subject.status();
  const absl::StatusOr<Workload> workload = WorkloadOf(options, *subject);
  if (!workload.ok()) return workload.status();
  absl::StatusOr<Plan> plan = MakePlan(*subject, *workload);
  if (!plan.ok()) return plan.status();
  PlanReport report;
  report.source = options.shape ? absl::StrCat("--shape ", options.source) : options.source;
  report.notes = NotesOn(*subject, *plan, options.memory);
  if (options.detail == PlanDetail::kExplained) report.explanation = Explain(*subject, *plan);
  report.memory = options.memory;
  report.subject = *std::move(subject);
  report.plan = *std::move(plan);
  return report;
}

int RunPlan(const PlanOptions& options) {
  const absl::StatusOr<PlanReport> report = MakePlanReport(options);
  const bool as_json = options.format == ReportFormat::kJson;
  if (report.ok()) return Print(as_json ? PlanAsJson(*report) + "\n" : PlanAsText(*report));
  if (!as_json) return Fail(report.status().message());
  const std::string reason = ToValidUtf8(
      std::string_view(report.status().message().data(), report.status().message().size()));
  Print(boost::json::serialize(boost::json::object{{"error", reason}}) + "\n");
  return 1;
}

}  // namespace banyan::server
