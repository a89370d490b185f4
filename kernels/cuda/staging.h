// Small arrays of the host on their way to the device: copied into a ring of pinned memory first,
// so that the caller's may go at once and nobody waits, until the ring comes round to what may
// still be under way.
//
// Thread safety: one thread at a time. All copies go by one stream.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

class Staging {
 public:
  static constexpr std::size_t kRingBytes = std::size_t{16} << 20;

  explicit Staging(Stream stream);  // throws std::bad_alloc
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void Upload(void* to, const void* from, std::size_t bytes);
  // Into a buffer that is grown to hold it; what is returned is its beginning.
  template <class T>
  const T* Upload(DeviceBuffer& to, std::span<const T> values) {
    to.Grow(values.size_bytes());
    Upload(to.as<void>(), values.data(), values.size_bytes());
    return to.as<T>();
  }

 private:
  Stream stream_;
  std::byte* ring_;
  std::size_t used_ = 0;
};

}  // namespace banyan::kernels::cuda
