// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace banyan::model {

// Move-only; unmaps in its destructor. The file must not be truncated while it is mapped.
class Mapping {
 public:
  // kNotFound when there is no such file; kInvalidArgument when it is no regular file, is empty or
  // cannot be read.
  static absl::StatusOr<Mapping> Open(const std::string& path);

  Mapping() = default;
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Tells the system that `bytes`, a part of the mapping, will not be read again soon: whole
  // memory pages within it stop being resident. Does nothing when there is no mapping.
  void Release(std::span<const std::byte> bytes) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace banyan::model
