// One pass over a GGUF file's header; fills a Gguf or says what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "model/gguf.h"

namespace banyan::model {

// Bytes of one element; 0 for a string, an array, or a type that the format does not define.
std::uint64_t GgufTypeBytes(GgufType type);
bool IsInteger(GgufType type);

// Takes values off the front of a run of bytes. A read that does not fit takes nothing.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  bool Read(T& value);
  // A 64-bit length, then that many bytes.
  bool ReadString(std::string_view& text);
  bool Skip(std::uint64_t bytes);

  std::uint64_t position() const { return position_; }
  std::uint64_t left() const { return bytes_.size() - position_; }
  const std::byte* here() const { return bytes_.data() + position_; }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;
};

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, Gguf& file)
      : bytes_(bytes), reader_(bytes), file_(file) {}
  absl::Status Run();

 private:
  absl::Status ParseHeader();
  absl::Status ParseKey(std::uint64_t index);
  absl::Status ParseArray(std::string_view key, Gguf::Value& value);
  absl::Status SkipElements(std::string_view key, const Gguf::Value& value);
  absl::Status FindAlignment();
  absl::Status ParseTensor(std::uint64_t index);
  absl::Status ParseShape(StoredTensor& tensor);
  absl::Status SizeTensor(StoredTensor& tensor, std::uint64_t offset);
  absl::Status PlaceTensors();
  absl::Status CheckApart() const;

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  Gguf& file_;

  std::uint64_t tensor_count_ = 0;
  std::uint64_t key_count_ = 0;
  std::uint64_t alignment_ = kDefaultGgufAlignment;
  absl::flat_hash_set<std::string_view> tensor_names_;
  std::vector<std::uint64_t> offsets_;  // of each tensor, from the start of the tensor data
  std::vector<std::uint64_t> sizes_;    // in bytes
};

}  // namespace banyan::model
