#include "kernels/cuda/staging.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace banyan::kernels::cuda {

Staging::Staging(Stream stream)
    : stream_(stream), ring_(static_cast<std::byte*>(AllocatePinned(kRingBytes))) {
  if (ring_ == nullptr) throw std::bad_alloc();
}

Staging::~Staging() {
  Synchronize(stream_);
  FreePinned(ring_);
}

void Staging::Upload(void* to, const void* from, std::size_t bytes) {
  auto* next_to = static_cast<std::byte*>(to);
  const auto* next_from = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    if (used_ == kRingBytes) {
      Synchronize(stream_);
      used_ = 0;
    }
    const std::size_t part = std::min(bytes, kRingBytes - used_);
    std::memcpy(ring_ + used_, next_from, part);
    CopyToDevice(next_to, ring_ + used_, part, stream_);
    used_ += part;
    next_to += part;
    next_from += part;
    bytes -= part;
  }
}

const std::byte* Staging::Upload(DeviceBuffer& to, const PackedArrays& arrays) {
  to.Grow(arrays.bytes_);
  auto* const memory = to.as<std::byte>();
  if (arrays.bytes_ > kRingBytes) {
    for (const PackedArrays::Part& part : arrays.parts_)
      Upload(memory + part.at, part.bytes.data(), part.bytes.size());
    return memory;
  }
  if (arrays.bytes_ > kRingBytes - used_) {
    Synchronize(stream_);
    used_ = 0;
  }
  for (const PackedArrays::Part& part : arrays.parts_)
    if (!part.bytes.empty())
      std::memcpy(ring_ + used_ + part.at, part.bytes.data(), part.bytes.size());
  CopyToDevice(memory, ring_ + used_, arrays.bytes_, stream_);
  used_ += arrays.bytes_;
  return memory;
}

}  // namespace banyan::kernels::cuda
