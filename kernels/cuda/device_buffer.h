// Memory of the device, and of the host where the device copies from and to, freed with its owner.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

template <void* (*kAllocate)(std::size_t), void (*kFree)(void*)>
class Buffer {
 public:
  Buffer() = default;
  // Throws std::bad_alloc.
  explicit Buffer(std::size_t bytes) : memory_(kAllocate(bytes)), bytes_(bytes) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  ~Buffer() {
    if (memory_ != nullptr) kFree(memory_);
  }
  Buffer(Buffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // At least `bytes`; what was in it is lost where that is more than there were. Waits for the
  // device then, which still may use them. Throws std::bad_alloc, and keeps what there was.
  void Grow(std::size_t bytes) {
    if (bytes > bytes_) *this = Buffer(bytes);
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

using DeviceBuffer = Buffer<Allocate, Free>;
using PinnedBuffer = Buffer<AllocatePinned, FreePinned>;

}  // namespace banyan::kernels::cuda
