// What the measurements of one report have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "kernels/cpu/backend.h"
#include "server/bench/measurement.h"
#include "server/bench/shapes.h"

namespace banyan::server {

// Weights and pages of a measurement, in bytes: so many that they come from memory, as in a step.
inline constexpr std::int64_t kRotationBytes = std::int64_t{128} << 20;

struct Gauge {
  const ModelShape& shape;
  const MeasureOptions& options;
  Tick slice;  // for one measurement
  KernelReport report;

  // Null when the machine does not run the variant.
  std::unique_ptr<kernels::CpuBackend> MakeBackend() const {
    return kernels::CpuBackend::Create(options.threads, options.variant);
  }
  void Add(KernelGroup group, std::string name, std::int32_t rows, const KernelWork& work,
           double seconds) {
    report.kernels.push_back({group, std::move(name), rows, work, seconds, {}});
  }
};

void MeasureProducts(Gauge& gauge);
// After the products of the report, what they are together in a step. They have their least times.
void AddSteps(Gauge& gauge);
// Both: false when there is no memory for the pages.
bool MeasureAttention(Gauge& gauge);
bool MeasureRowKernels(Gauge& gauge);

}  // namespace banyan::server
