// GGUF, the model file format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
//   magic "GGUF" | version | tensor count | key count
//   key count    x (key, type, value)
//   tensor count x (name, dimensions, type, offset)
//   padding to general.alignment
//   tensor data
//
// The bytes are foreign: each count, length, type, dimension and offset is checked before it is
// used. Invariants once parsed:
//  1. Every string, array element and tensor lies within the bytes; getters check nothing again.
//  2. Keys and tensor names are unique; no two tensors share a byte.
//  3. Nothing is copied: values and names are views of the bytes, arrays are read when asked for.
//
// Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/metadata.h"
#include "model/mapping.h"
#include "model/model.h"

namespace banyan::model {

inline constexpr std::uint64_t kMaxGgufKeys = 65536;
inline constexpr std::uint64_t kMaxGgufTensors = 65536;
inline constexpr std::uint64_t kMaxGgufNameBytes = 65535;   // of a key or a tensor's name
inline constexpr std::uint64_t kMaxGgufElements = 1 << 24;  // of an array; vocabularies have 2^19
inline constexpr std::uint64_t kMinGgufAlignment = 8;
inline constexpr std::uint64_t kDefaultGgufAlignment = 32;

enum class GgufType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

class Gguf final : public File, public Metadata {
 public:
  // `bytes` outlive the result. kInvalidArgument names what is wrong, on one line.
  static absl::StatusOr<std::unique_ptr<Gguf>> Parse(std::span<const std::byte> bytes);
  static absl::StatusOr<std::unique_ptr<Gguf>> Parse(Mapping mapping);

  const Metadata& metadata() const override { return *this; }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  void Release(const StoredTensor& tensor) const override { mapping_.Release(tensor.data); }
  std::int64_t bytes() const override { return static_cast<std::int64_t>(bytes_.size()); }
  std::int32_t parts() const override { return 1; }

  std::vector<std::string_view> keys() const;  // in no order
  // Whether `other` has that key of this file, with the same type and bytes.
  bool HasSameValue(std::string_view key, const Gguf& other) const;
  // Whether the tensor's data lies in this file.
  bool Holds(const StoredTensor& tensor) const;

  bool Has(std::string_view key) const override { return values_.contains(key); }
  std::optional<std::string_view> String(std::string_view key) const override;
  std::optional<std::int64_t> Integer(std::string_view key) const override;
  std::optional<double> Float(std::string_view key) const override;
  std::optional<bool> Bool(std::string_view key) const override;
  std::optional<std::vector<std::string_view>> Strings(std::string_view key) const override;
  std::optional<std::vector<std::int64_t>> Integers(std::string_view key) const override;
  std::optional<std::vector<double>> Floats(std::string_view key) const override;

 private:
  friend class GgufParser;

  struct Value {
    GgufType type = GgufType::kUint8;  // of the elements, when it is an array
    bool is_array = false;
    std::uint64_t count = 1;          // elements
    std::span<const std::byte> data;  // of all elements
  };

  Gguf() = default;
  const Value* FindScalar(std::string_view key) const;
  const Value* FindArray(std::string_view key) const;

  Mapping mapping_;  // empty when the bytes belong to someone else
  std::span<const std::byte> bytes_;
  absl::flat_hash_map<std::string_view, Value> values_;
  std::vector<StoredTensor> tensors_;  // in the file's order
};

}  // namespace banyan::model
