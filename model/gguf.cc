#include "model/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "base/check.h"
#include "model/gguf_parser.h"
#include "model/split_file.h"

namespace banyan::model {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read as it lies in memory");

template <typename T>
T Load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

std::optional<std::int64_t> LoadInteger(GgufType type, const std::byte* data) {
  switch (type) {
    case GgufType::kUint8:
      return Load<std::uint8_t>(data);
    case GgufType::kInt8:
      return Load<std::int8_t>(data);
    case GgufType::kUint16:
      return Load<std::uint16_t>(data);
    case GgufType::kInt16:
      return Load<std::int16_t>(data);
    case GgufType::kUint32:
      return Load<std::uint32_t>(data);
    case GgufType::kInt32:
      return Load<std::int32_t>(data);
    case GgufType::kInt64:
      return Load<std::int64_t>(data);
    case GgufType::kUint64: {
      const auto value = Load<std::uint64_t>(data);
      if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::string_view LoadString(const std::byte* data) {
  return {reinterpret_cast<const char*>(data + sizeof(std::uint64_t)), Load<std::uint64_t>(data)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gguf>> Gguf::Parse(std::span<const std::byte> bytes) {
  std::unique_ptr<Gguf> file(new Gguf);
  file->bytes_ = bytes;
  if (absl::Status status = GgufParser(bytes, *file).Run(); !status.ok()) return status;
  return file;
}

absl::StatusOr<std::unique_ptr<Gguf>> Gguf::Parse(Mapping mapping) {
  absl::StatusOr<std::unique_ptr<Gguf>> file = Parse(mapping.bytes());
  if (file.ok()) (*file)->mapping_ = std::move(mapping);
  return file;
}

absl::StatusOr<std::unique_ptr<File>> File::Open(const std::string& path) {
  absl::StatusOr<Mapping> mapping = Mapping::Open(path);
  if (!mapping.ok()) return mapping.status();
  absl::StatusOr<std::unique_ptr<Gguf>> file = Gguf::Parse(*std::move(mapping));
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::int64_t> parts = PartsOf(**file);
  if (!parts.ok()) return parts.status();
  if (*parts > 1) return SplitFile::Open(path, *std::move(file));
  return *std::move(file);
}

std::vector<std::string_view> Gguf::keys() const {
  std::vector<std::string_view> keys;
  keys.reserve(values_.size());
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

bool Gguf::HasSameValue(std::string_view key, const Gguf& other) const {
  const auto mine = values_.find(key);
  const auto theirs = other.values_.find(key);
  if (mine == values_.end() || theirs == other.values_.end()) return false;
  const Value& a = mine->second;
  const Value& b = theirs->second;
  return a.type == b.type && a.is_array == b.is_array && a.count == b.count &&
         std::ranges::equal(a.data, b.data);
}

bool Gguf::Holds(const StoredTensor& tensor) const {
  const std::less_equal<> before;  // an order also for pointers into different memory
  return before(bytes_.data(), tensor.data.data()) &&
         before(tensor.data.data() + tensor.data.size(), bytes_.data() + bytes_.size());
}

const Gguf::Value* Gguf::FindScalar(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() || it->second.is_array ? nullptr : &it->second;
}

const Gguf::Value* Gguf::FindArray(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() || !it->second.is_array ? nullptr : &it->second;
}

std::optional<std::string_view> Gguf::String(std::string_view key) const {
  const Value* value = FindScalar(key);
  if (value == nullptr || value->type != GgufType::kString) return std::nullopt;
  return LoadString(value->data.data());
}

std::optional<std::int64_t> Gguf::Integer(std::string_view key) const {
  const Value* value = FindScalar(key);
  if (value == nullptr) return std::nullopt;
  return LoadInteger(value->type, value->data.data());
}

std::optional<double> Gguf::Float(std::string_view key) const {
  const Value* value = FindScalar(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == GgufType::kFloat32) return Load<float>(value->data.data());
  if (value->type == GgufType::kFloat64) return Load<double>(value->data.data());
  return std::nullopt;
}

std::optional<bool> Gguf::Bool(std::string_view key) const {
  const Value* value = FindScalar(key);
  if (value == nullptr || value->type != GgufType::kBool) return std::nullopt;
  return Load<std::uint8_t>(value->data.data()) != 0;
}

std::optional<std::vector<std::string_view>> Gguf::Strings(std::string_view key) const {
  const Value* value = FindArray(key);
  if (value == nullptr || value->type != GgufType::kString) return std::nullopt;
  std::vector<std::string_view> strings;
  strings.reserve(value->count);
  const std::byte* data = value->data.data();
  for (std::uint64_t i = 0; i < value->count; ++i) {
    strings.push_back(LoadString(data));
    data += sizeof(std::uint64_t) + strings.back().size();
  }
  return strings;
}

std::optional<std::vector<std::int64_t>> Gguf::Integers(std::string_view key) const {
  const Value* value = FindArray(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::int64_t> integers;
  const std::uint64_t size = GgufTypeBytes(value->type);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    const std::optional<std::int64_t> integer =
        LoadInteger(value->type, value->data.data() + i * size);
    if (!integer) return std::nullopt;
    integers.push_back(*integer);
  }
  // An empty array has the type it says, like any other.
  if (integers.empty() && !IsInteger(value->type)) return std::nullopt;
  return integers;
}

std::optional<std::vector<double>> Gguf::Floats(std::string_view key) const {
  const Value* value = FindArray(key);
  if (value == nullptr) return std::nullopt;
  const bool is_float = value->type == GgufType::kFloat32;
  if (!is_float && value->type != GgufType::kFloat64) return std::nullopt;
  std::vector<double> floats;
  floats.reserve(value->count);
  const std::uint64_t size = GgufTypeBytes(value->type);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    const std::byte* data = value->data.data() + i * size;
    floats.push_back(is_float ? Load<float>(data) : Load<double>(data));
  }
  return floats;
}

}  // namespace banyan::model
