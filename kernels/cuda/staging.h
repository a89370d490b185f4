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

// Arrays that lie behind each other on the device, and go there by one copy: a copy's launch takes
// longer than what small arrays need.
class PackedArrays {
 public:
  static constexpr std::size_t kAlignment = 16;

  template <class T>
  struct Array {
    std::size_t at = 0;
    const T* From(const std::byte* memory) const { return reinterpret_cast<const T*>(memory + at); }
  };
  // `values` are to be kept until they are uploaded.
  template <class T>
  Array<T> Add(std::span<const T> values) {
    const Array<T> array{bytes_};
    parts_.push_back({bytes_, std::as_bytes(values)});
    bytes_ += (values.size_bytes() + kAlignment - 1) / kAlignment * kAlignment;
    return array;
  }

 private:
  friend class Staging;
  struct Part {
    std::size_t at = 0;
    std::span<const std::byte> bytes;
  };
  std::vector<Part> parts_;
  std::size_t bytes_ = 0;
};

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
  const std::byte* Upload(DeviceBuffer& to, const PackedArrays& arrays);

 private:
  Stream stream_;
  std::byte* ring_;
  std::size_t used_ = 0;
};

}  // namespace banyan::kernels::cuda
