// What a kernel needs to be measured: a backend, weights and inputs that mean nothing, a stopwatch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "kernels/cpu/backend.h"
#include "kernels/tensor.h"

namespace banyan::server {

// Bytes that are small finite numbers in every tensor type: as f16, 0.06 to 0.13.
std::vector<std::byte> AnyBytes(std::int64_t count);

// The least time in seconds of one call of call(i), i = 0, 1, 2, ..: batches of calls that take
// about a millisecond, at least one and no more than `time` lets in.
template <class F>
double QuickestCall(Tick time, const F& call) {
  constexpr Tick kBatch = std::chrono::milliseconds(1);
  constexpr std::int64_t kMaxCalls = 100'000;
  const SteadyClock clock;
  std::int64_t next = 0;
  const auto run = [&](std::int64_t calls) {
    const Tick start = clock.Now();
    for (std::int64_t i = 0; i < calls; ++i) call(next++);
    return clock.Now() - start;
  };
  const Tick begin = clock.Now();
  const Tick first = std::max(run(1), Tick(1));  // the slowest: caches are cold
  const std::int64_t calls = std::clamp<std::int64_t>(kBatch / first, 1, kMaxCalls);
  double least = 0;
  do {
    const double seconds = Seconds(run(calls)) / static_cast<double>(calls);
    least = least == 0 ? seconds : std::min(least, seconds);
  } while (clock.Now() - begin < time);
  return std::max(least, 1e-9);
}

class Bed {
 public:
  // `backend` is not null.
  explicit Bed(std::unique_ptr<kernels::CpuBackend> backend) : backend_(std::move(backend)) {}

  kernels::CpuBackend& backend() { return *backend_; }

  kernels::CpuBackend::Matrix Weights(kernels::DType type, std::int64_t outputs, std::int64_t cols);
  kernels::CpuBackend::Vector Norm(std::int64_t cols);
  kernels::CpuBackend::Activations Activations(std::int32_t rows, std::int64_t cols);
  kernels::CpuBackend::Input Input(std::int32_t rows, std::int64_t cols);

 private:
  std::unique_ptr<kernels::CpuBackend> backend_;
};

}  // namespace banyan::server
