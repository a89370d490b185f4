#include "kernels/cpu/buffer.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace banyan::kernels {

Buffer Buffer::Map(std::size_t bytes) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  void* data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (data == MAP_FAILED) return buffer;
  madvise(data, bytes, MADV_HUGEPAGE);  // advice only: a refusal changes nothing but speed
  buffer.data_ = data;
  buffer.size_ = bytes;
  return buffer;
}

Buffer Buffer::MapOrThrow(std::size_t bytes) {
  Buffer buffer = Map(bytes);
  if (buffer.empty() && bytes > 0) throw std::bad_alloc();
  return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

void GrowFloats(Buffer& buffer, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  if (buffer.size() >= bytes) return;
  buffer = Buffer();  // not both at a time
  buffer = Buffer::MapOrThrow(bytes);
}

}  // namespace banyan::kernels
