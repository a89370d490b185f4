// Writes small GGUF files in memory, honest and lying ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/gguf.h"

namespace banyan::model {

// Appends little-endian values to a run of bytes.
class Bytes {
 public:
  template <typename T>
  Bytes& Put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return Append(std::as_bytes(std::span(&value, 1)));
  }
  Bytes& PutRaw(std::string_view text) { return Append(std::as_bytes(std::span(text))); }
  Bytes& PutString(std::string_view text) { return Put(std::uint64_t{text.size()}).PutRaw(text); }
  Bytes& Append(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) bytes_.push_back(byte);
    return *this;
  }
  Bytes& PadTo(std::size_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte{0});
    return *this;
  }

  const std::vector<std::byte>& get() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

class GgufWriter {
 public:
  // What the header says; the counts are of what was added unless a test lies about them.
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t extra_tensors = 0;
  std::uint64_t extra_keys = 0;
  std::size_t alignment = kDefaultGgufAlignment;

  GgufWriter& String(std::string_view key, std::string_view value) {
    Key(key, GgufType::kString).PutString(value);
    return *this;
  }
  template <typename T>
  GgufWriter& Scalar(std::string_view key, GgufType type, T value) {
    Key(key, type).Put(value);
    return *this;
  }
  GgufWriter& Uint32(std::string_view key, std::uint32_t value) {
    return Scalar(key, GgufType::kUint32, value);
  }
  GgufWriter& Float32(std::string_view key, float value) {
    return Scalar(key, GgufType::kFloat32, value);
  }
  template <typename T>
  GgufWriter& Array(std::string_view key, GgufType element, const std::vector<T>& values) {
    Bytes& bytes = ArrayHeader(key, element, values.size());
    for (const T& value : values) bytes.Put(value);
    return *this;
  }
  GgufWriter& Strings(std::string_view key, const std::vector<std::string>& values) {
    Bytes& bytes = ArrayHeader(key, GgufType::kString, values.size());
    for (const std::string& value : values) bytes.PutString(value);
    return *this;
  }
  // The key, the types and the count; what follows is the test's affair.
  Bytes& ArrayHeader(std::string_view key, GgufType element, std::uint64_t count) {
    return Key(key, GgufType::kArray).Put(element).Put(count);
  }
  Bytes& Key(std::string_view key, GgufType type) {
    ++keys_;
    return key_bytes_.PutString(key).Put(type);
  }

  // Dimensions with the contiguous one first, as in the file. The data is placed at the next
  // aligned offset.
  GgufWriter& Tensor(std::string_view name, std::uint32_t type,
                     const std::vector<std::uint64_t>& dims, std::span<const std::byte> data) {
    data_.PadTo(alignment);
    TensorHeader(name, type, dims, data_.size());
    data_.Append(data);
    return *this;
  }
  GgufWriter& TensorHeader(std::string_view name, std::uint32_t type,
                           const std::vector<std::uint64_t>& dims, std::uint64_t offset) {
    ++tensors_;
    tensor_bytes_.PutString(name).Put(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) tensor_bytes_.Put(dim);
    tensor_bytes_.Put(type).Put(offset);
    return *this;
  }

  std::vector<std::byte> Write() const {
    Bytes file;
    file.PutRaw(magic).Put(version);
    file.Put(tensors_ + extra_tensors).Put(keys_ + extra_keys);
    file.Append(key_bytes_.get()).Append(tensor_bytes_.get());
    if (data_.size() > 0) file.PadTo(alignment).Append(data_.get());
    return file.get();
  }

 private:
  std::uint64_t keys_ = 0;
  std::uint64_t tensors_ = 0;
  Bytes key_bytes_;
  Bytes tensor_bytes_;
  Bytes data_;
};

}  // namespace banyan::model
