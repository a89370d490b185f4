// Memory of the device, freed with its owner.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // Throws std::bad_alloc.
  explicit DeviceBuffer(std::size_t bytes) : memory_(Allocate(bytes)), bytes_(bytes) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  ~DeviceBuffer() {
    if (memory_ != nullptr) Free(memory_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // At least `bytes`; what was in it is lost where that is more than there were. Waits for the
  // device then, which still may use them. Throws std::bad_alloc, and keeps what there was.
  void Grow(std::size_t bytes) {
    if (bytes > bytes_) *this = DeviceBuffer(bytes);
  }

  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace banyan::kernels::cuda
