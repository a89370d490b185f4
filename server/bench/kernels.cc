#include "server/bench/kernels.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/bench/measurement.h"
#include "server/bench/report.h"
#include "server/bench/shapes.h"
#include "server/fail.h"

namespace banyan::server {

int BenchKernels(const BenchKernelsOptions& options) {
  const absl::StatusOr<ModelShape> shape =
      options.model.empty() ? SmolLm2Shape() : ReadModelShape(options.model);
  if (!shape.ok()) return Fail(absl::StrCat(options.model, ": ", shape.status().message()));
  const absl::StatusOr<KernelReport> report =
      MeasureKernels(*shape, {.threads = options.threads,
                              .variant = options.variant,
                              .time = options.time,
                              .roofs_alone = options.scope == BenchScope::kRoofs});
  if (!report.ok()) return Fail(report.status().message());
  return Print(options.format == ReportFormat::kJson ? KernelReportAsJson(*report) + "\n"
                                                     : KernelReportAsText(*report));
}

}  // namespace banyan::server
