// Any bytes as a model's config.json and as a shape: refused with a message, or what passes every
// bound and can be planned for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/plan/explain.h"
#include "server/plan/hf_config.h"
#include "server/plan/notes.h"
#include "server/plan/report.h"
#include "server/plan/shape_text.h"

namespace {

using namespace banyan::server;  // NOLINT

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequirePlan(const Subject& subject) {
  Require(CheckCacheShape(subject.shape).ok());
  const Workload workload = {.page_size = 16,
                             .context = 1000,
                             .sessions = 7,
                             .shared_prefix = 100,
                             .kv_memory = std::int64_t{1} << 40};
  const absl::StatusOr<Plan> plan = MakePlan(subject, workload);
  if (!plan.ok()) return;
  for (const FormatPlan& format : plan->formats) {
    Require(0 < format.bytes_per_token && format.formula_bytes <= format.allocated_bytes);
    Require(format.capacity->sessions <= format.capacity->sharing_sessions);
  }
  const PlanReport report = {.source = "fuzz",
                             .subject = subject,
                             .plan = *plan,
                             .memory = {},
                             .notes = NotesOn(subject, *plan, {}),
                             .explanation = Explain(subject, *plan)};
  Require(!PlanAsText(report).empty() && !PlanAsJson(report).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Subject> subject = ParseHfConfig(text);
  if (subject.ok()) {
    RequirePlan(*subject);
  } else {
    Require(absl::IsInvalidArgument(subject.status()) && !subject.status().message().empty());
  }
  const absl::StatusOr<CacheShape> shape = ParseShape(text);
  if (!shape.ok()) return 0;
  Subject shaped;
  shaped.shape = *shape;
  RequirePlan(shaped);
  return 0;
}
