// An array in the device's memory, for tests: the host's where kernels are emulated.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda::testing {

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count)
      : count_(count), memory_(static_cast<T*>(Allocate(count * sizeof(T)))) {
    EXPECT_NE(memory_, nullptr);
  }
  DeviceArray(const std::vector<T>& values)  // NOLINT: the same
      : DeviceArray(std::span<const T>(values)) {}
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) {
    CopyToDevice(memory_, values.data(), count_ * sizeof(T), nullptr);
    Synchronize(nullptr);
  }
  ~DeviceArray() { Free(memory_); }
  DeviceArray(DeviceArray&& other) noexcept
      : count_(other.count_), memory_(std::exchange(other.memory_, nullptr)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return memory_; }
  const T* data() const { return memory_; }
  std::size_t size() const { return count_; }

  std::vector<T> Read() const {
    std::vector<T> values(count_);
    CopyToHost(values.data(), memory_, count_ * sizeof(T), nullptr);
    Synchronize(nullptr);
    return values;
  }

 private:
  std::size_t count_;
  T* memory_;
};

}  // namespace banyan::kernels::cuda::testing
