// Memory straight from the system: zeroed, aligned to a page, resident only once touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan::kernels {

// Move-only owner of one mapping. An empty Buffer has no memory.
class Buffer {
 public:
  Buffer() = default;
  // Asks for huge pages where they are to be had. Empty when the system refuses, or for 0 bytes.
  static Buffer Map(std::size_t bytes);
  // The same, but throws std::bad_alloc where the system refuses.
  static Buffer MapOrThrow(std::size_t bytes);

  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::size_t size() const { return size_; }
  bool empty() const { return data_ == nullptr; }
  template <class T>
  T* as() {
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// Makes room for at least so many floats; what it held is lost when it grows. Throws as MapOrThrow,
// and leaves it empty then.
void GrowFloats(Buffer& buffer, std::int64_t count);

}  // namespace banyan::kernels
