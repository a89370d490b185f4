#include "server/bench/measurement.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cpu/streaming_read.h"
#include "server/bench/bed.h"
#include "server/bench/gauge.h"

namespace banyan::server {
namespace {

using kernels::CpuBackend;
using kernels::DType;

constexpr std::size_t kStreamBytes = std::size_t{512} << 20;
constexpr std::int64_t kStreamParts = 16;
constexpr std::size_t kCacheBytes = std::size_t{256} << 10;  // of each thread
constexpr std::int64_t kKernelsBesideProducts = 20;          // about

// A part of the memory at a time, all in turn; `times` over, where the parts fit a cache.
double ReadSpeed(const Gauge& gauge, std::size_t bytes, std::int64_t parts, std::int32_t times) {
  kernels::StreamingRead memory(gauge.options.threads, bytes);
  const double seconds =
      QuickestCall(gauge.slice, [&](std::int64_t call) { memory.Run(call % parts, parts, times); });
  return static_cast<double>(bytes) / static_cast<double>(parts) * times / seconds;
}

double ProductSpeed(const Gauge& gauge, DType type) {
  constexpr std::int64_t kOutputs = 128;  // of each thread
  constexpr std::int64_t kCols = 768;     // whole blocks of every type
  constexpr std::int32_t kRows = 64;
  Bed bed(gauge.MakeBackend());
  const std::int64_t outputs = kOutputs * gauge.options.threads;
  const CpuBackend::Matrix w = bed.Weights(type, outputs, kCols);
  const CpuBackend::Input in = bed.Input(kRows, kCols);
  CpuBackend::Activations out =
      bed.backend().MakeActivations(kRows, static_cast<std::int32_t>(outputs));
  const double seconds =
      QuickestCall(gauge.slice, [&](std::int64_t) { bed.backend().MatMul(w, in, kRows, out); });
  return static_cast<double>(outputs * kCols * kRows) / seconds;
}

// Raises roofs to what the machine does now.
void MeasureRoofs(Gauge& gauge, const std::set<DType>& types) {
  Roofs& roofs = gauge.report.roofs;
  const auto raise = [](double& roof, double speed) { roof = std::max(roof, speed); };
  raise(roofs.memory, ReadSpeed(gauge, kStreamBytes, kStreamParts, /*times=*/1));
  const std::size_t cached = kCacheBytes * static_cast<std::size_t>(gauge.options.threads);
  raise(roofs.cache, ReadSpeed(gauge, cached, /*parts=*/1, /*times=*/16));
  for (const DType type : types) raise(roofs.products[type], ProductSpeed(gauge, type));
}

// Roofs are measured on both sides of the kernels: others who use the machine meanwhile make it
// look slower, and a kernel that they spared would stand above a roof that they did not.
bool MeasureBelowRoofs(Gauge& gauge, const std::set<DType>& types) {
  MeasureRoofs(gauge, types);
  if (gauge.options.roofs_alone) return true;
  MeasureProducts(gauge);
  if (!MeasureAttention(gauge) || !MeasureRowKernels(gauge)) return false;
  MeasureRoofs(gauge, types);
  for (KernelResult& result : gauge.report.kernels)
    result.least = LeastTime(result.work, gauge.report.roofs);
  AddSteps(gauge);
  return true;
}

absl::StatusOr<KernelReport> Measure(const ModelShape& shape, const MeasureOptions& options) {
  std::set<DType> types = {DType::kF32};  // what attention adds up
  for (const ProductShape& product : shape.products) {
    for (const MatrixShape& matrix : product.matrices) types.insert(matrix.type);
  }
  const auto roofs = static_cast<std::int64_t>(2 + types.size());
  const auto kernels =
      static_cast<std::int64_t>(4 * shape.products.size()) + kKernelsBesideProducts;
  const std::int64_t slices = options.roofs_alone ? roofs : 2 * roofs + kernels;
  Gauge gauge = {shape, options, Tick(options.time) / slices, {}};
  const std::unique_ptr<CpuBackend> backend = gauge.MakeBackend();
  if (backend == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("this machine does not run a variant '", options.variant, "'"));
  }
  gauge.report.variant = backend->variant();
  gauge.report.threads = options.threads;
  gauge.report.model = shape.name;
  if (!MeasureBelowRoofs(gauge, types))
    return absl::ResourceExhaustedError("the machine has not enough memory for KV pages");
  return std::move(gauge.report);
}

}  // namespace

Least LeastTime(const KernelWork& work, const Roofs& roofs) {
  double products = 0;
  for (const auto& [type, count] : work.products) products += count / roofs.products.at(type);
  const Least bounds[] = {{work.memory_bytes / roofs.memory, Bound::kMemory},
                          {work.cache_bytes / roofs.cache, Bound::kCache},
                          {products, Bound::kProducts}};
  return *std::max_element(std::begin(bounds), std::end(bounds),
                           [](const Least& a, const Least& b) { return a.seconds < b.seconds; });
}

absl::StatusOr<KernelReport> MeasureKernels(const ModelShape& shape,
                                            const MeasureOptions& options) {
  try {
    return Measure(shape, options);
  } catch (const std::exception& error) {  // std::bad_alloc, std::system_error
    return absl::ResourceExhaustedError(
        absl::StrCat("the machine has not enough memory or threads: ", error.what()));
  }
}

}  // namespace banyan::server
