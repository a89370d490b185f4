// The CPU kernels beside what the machine can do at most: the roofline model. Williams, Waterman &
// Patterson, "Roofline: an insightful visual performance model", 2009.
//
// Roofs are measured, not looked up, before the kernels and after them; the higher counts:
//   memory   a streaming read of 512 MiB, 32 MiB at a time
//   cache    the same of 256 KiB a thread, which a second-level cache holds
//   products multiply-adds of the product itself, of 64 rows with weights and inputs in that cache,
//            by the type of the weights; sums of floats (attention) are held against F32's
// A kernel's bound is the roof that makes it take longest; its share of the roof is that time over
// the time it took.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/tensor.h"
#include "server/bench/shapes.h"

namespace banyan::server {

struct Roofs {
  double memory = 0;                          // bytes per second
  double cache = 0;                           // bytes per second
  std::map<kernels::DType, double> products;  // multiply-adds per second, of the types in use
};

// What one call has to do at least.
struct KernelWork {
  double memory_bytes = 0;                      // read from memory
  double cache_bytes = 0;                       // read and written where the step has them at hand
  std::map<kernels::DType, double> products{};  // multiply-adds, by the type of the weights

  double all_products() const {
    double sum = 0;
    for (const auto& [type, count] : products) sum += count;
    return sum;
  }
};

enum class Bound : std::uint8_t { kMemory, kCache, kProducts };

struct Least {
  double seconds = 0;
  Bound bound = Bound::kMemory;
};
// The time that the roofs leave for it. They have the types of its products.
Least LeastTime(const KernelWork& work, const Roofs& roofs);

enum class KernelGroup : std::uint8_t { kProducts, kAttention, kRows };

struct KernelResult {
  KernelGroup group = KernelGroup::kProducts;
  std::string name;
  std::int32_t rows = 0;
  KernelWork work;
  double seconds = 0;  // of a call, the quickest of many
  Least least;

  double OfRoof() const { return least.seconds / seconds; }
};

struct KernelReport {
  std::string variant;
  std::int32_t threads = 0;
  std::string model;
  Roofs roofs;
  std::vector<KernelResult> kernels;  // by group
};

struct MeasureOptions {
  std::int32_t threads = 1;
  std::string variant;                // empty: the quickest
  std::chrono::milliseconds time{0};  // about how long it measures, besides making its data
  bool roofs_alone = false;
};

// kNotFound when the machine does not run the variant, kResourceExhausted when it has not enough
// memory or threads.
absl::StatusOr<KernelReport> MeasureKernels(const ModelShape& shape, const MeasureOptions& options);

}  // namespace banyan::server
