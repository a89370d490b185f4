#include "model/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "model/ggml_types.h"

namespace banyan::model {
namespace {

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename... Parts>
absl::Status WrongKey(std::string_view key, const Parts&... parts) {
  return Wrong("key ", Quote(key), ": ", parts...);
}

template <typename... Parts>
absl::Status WrongTensor(std::string_view name, const Parts&... parts) {
  return Wrong("tensor ", Quote(name), ": ", parts...);
}

}  // namespace

std::uint64_t GgufTypeBytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return 0;
}

bool IsInteger(GgufType type) {
  return GgufTypeBytes(type) > 0 && type != GgufType::kBool && type != GgufType::kFloat32 &&
         type != GgufType::kFloat64;
}

template <typename T>
bool ByteReader::Read(T& value) {
  if (left() < sizeof(T)) return false;
  std::memcpy(&value, here(), sizeof(T));
  position_ += sizeof(T);
  return true;
}

bool ByteReader::ReadString(std::string_view& text) {
  const std::uint64_t start = position_;
  std::uint64_t size = 0;
  if (!Read(size) || left() < size) {
    position_ = start;
    return false;
  }
  text = {reinterpret_cast<const char*>(here()), size};
  position_ += size;
  return true;
}

bool ByteReader::Skip(std::uint64_t bytes) {
  if (left() < bytes) return false;
  position_ += bytes;
  return true;
}

absl::Status GgufParser::Run() {
  if (absl::Status status = ParseHeader(); !status.ok()) return status;
  for (std::uint64_t i = 0; i < key_count_; ++i) {
    if (absl::Status status = ParseKey(i); !status.ok()) return status;
  }
  if (absl::Status status = FindAlignment(); !status.ok()) return status;
  for (std::uint64_t i = 0; i < tensor_count_; ++i) {
    if (absl::Status status = ParseTensor(i); !status.ok()) return status;
  }
  return PlaceTensors();
}

absl::Status GgufParser::ParseHeader() {
  char magic[4];
  if (!reader_.Read(magic) || std::memcmp(magic, "GGUF", sizeof(magic)) != 0) {
    return Wrong("not a GGUF file: it does not begin with 'GGUF'");
  }
  std::uint32_t version = 0;
  if (!reader_.Read(version)) return Wrong("the file ends within its header");
  if (version == 1) return Wrong("GGUF version 1 is not supported: convert it to version 3");
  if (version != 0 && (version & 0xFFFFU) == 0) {
    return Wrong("the file is big-endian: convert it to little-endian");
  }
  if (version != 2 && version != 3) return Wrong("GGUF version ", version, " is not known");
  if (!reader_.Read(tensor_count_) || !reader_.Read(key_count_)) {
    return Wrong("the file ends within its header");
  }
  if (tensor_count_ > kMaxGgufTensors) {
    return Wrong("the file claims ", tensor_count_, " tensors; at most ", kMaxGgufTensors,
                 " are allowed");
  }
  if (key_count_ > kMaxGgufKeys) {
    return Wrong("the file claims ", key_count_, " keys; at most ", kMaxGgufKeys, " are allowed");
  }
  return absl::OkStatus();
}

absl::Status GgufParser::ParseKey(std::uint64_t index) {
  std::string_view key;
  if (!reader_.ReadString(key)) {
    return Wrong("key ", index, " of ", key_count_, ": its name lies past the end of the file");
  }
  if (key.empty() || key.size() > kMaxGgufNameBytes) {
    return Wrong("key ", index, " of ", key_count_, ": its name has ", key.size(), " bytes; 1 to ",
                 kMaxGgufNameBytes, " are allowed");
  }
  std::uint32_t type = 0;
  if (!reader_.Read(type)) return WrongKey(key, "its type lies past the end of the file");
  Gguf::Value value;
  value.type = GgufType{type};
  if (value.type == GgufType::kArray) {
    if (absl::Status status = ParseArray(key, value); !status.ok()) return status;
  } else if (value.type != GgufType::kString && GgufTypeBytes(value.type) == 0) {
    return WrongKey(key, "unknown type ", type);
  }
  const std::byte* const data = reader_.here();
  if (absl::Status status = SkipElements(key, value); !status.ok()) return status;
  value.data = {data, reader_.here()};
  if (!file_.values_.emplace(key, value).second) return WrongKey(key, "is there twice");
  return absl::OkStatus();
}

absl::Status GgufParser::ParseArray(std::string_view key, Gguf::Value& value) {
  std::uint32_t type = 0;
  if (!reader_.Read(type) || !reader_.Read(value.count)) {
    return WrongKey(key, "the array lies past the end of the file");
  }
  value.is_array = true;
  value.type = GgufType{type};
  if (value.type == GgufType::kArray) return WrongKey(key, "arrays of arrays are not supported");
  if (value.type != GgufType::kString && GgufTypeBytes(value.type) == 0) {
    return WrongKey(key, "unknown element type ", type);
  }
  // A file may have holes, so that its own size bounds nothing.
  if (value.count > kMaxGgufElements) {
    return WrongKey(key, "the array claims ", value.count, " elements; at most ", kMaxGgufElements,
                    " are allowed");
  }
  return absl::OkStatus();
}

absl::Status GgufParser::SkipElements(std::string_view key, const Gguf::Value& value) {
  if (value.type == GgufType::kString) {
    // Each takes at least its length: a lying count ends at the end of the file.
    for (std::uint64_t i = 0; i < value.count; ++i) {
      std::string_view text;
      if (!reader_.ReadString(text)) {
        return WrongKey(key, "string ", i, " of ", value.count, " lies past the end of the file");
      }
    }
    return absl::OkStatus();
  }
  const std::uint64_t size = GgufTypeBytes(value.type);
  if (value.count > reader_.left() / size) {
    return WrongKey(key, value.count, " elements of ", size, " bytes lie past the end of the file");
  }
  if (value.type == GgufType::kBool) {
    const std::byte* const first = reader_.here();
    if (std::any_of(first, first + value.count, [](std::byte b) { return b > std::byte{1}; })) {
      return WrongKey(key, "a boolean is neither 0 nor 1");
    }
  }
  reader_.Skip(value.count * size);
  return absl::OkStatus();
}

absl::Status GgufParser::FindAlignment() {
  constexpr std::string_view kKey = "general.alignment";
  if (!file_.Has(kKey)) return absl::OkStatus();
  const std::optional<std::int64_t> alignment = file_.Integer(kKey);
  if (!alignment) return WrongKey(kKey, "is not an integer");
  if (*alignment < static_cast<std::int64_t>(kMinGgufAlignment) ||
      !std::has_single_bit(static_cast<std::uint64_t>(*alignment))) {
    return WrongKey(kKey, *alignment, " is not a power of two of at least ", kMinGgufAlignment);
  }
  alignment_ = static_cast<std::uint64_t>(*alignment);
  return absl::OkStatus();
}

absl::Status GgufParser::ParseTensor(std::uint64_t index) {
  StoredTensor tensor;
  if (!reader_.ReadString(tensor.name)) {
    return Wrong("tensor ", index, " of ", tensor_count_,
                 ": its name lies past the end of the file");
  }
  if (tensor.name.empty() || tensor.name.size() > kMaxGgufNameBytes) {
    return Wrong("tensor ", index, " of ", tensor_count_, ": its name has ", tensor.name.size(),
                 " bytes; 1 to ", kMaxGgufNameBytes, " are allowed");
  }
  if (!tensor_names_.insert(tensor.name).second) return WrongTensor(tensor.name, "is there twice");
  if (absl::Status status = ParseShape(tensor); !status.ok()) return status;
  std::uint64_t offset = 0;
  if (!reader_.Read(tensor.type) || !reader_.Read(offset)) {
    return WrongTensor(tensor.name, "its description lies past the end of the file");
  }
  if (absl::Status status = SizeTensor(tensor, offset); !status.ok()) return status;
  file_.tensors_.push_back(tensor);
  return absl::OkStatus();
}

absl::Status GgufParser::ParseShape(StoredTensor& tensor) {
  std::uint32_t dims = 0;
  if (!reader_.Read(dims)) {
    return WrongTensor(tensor.name, "its description lies past the end of the file");
  }
  if (dims == 0 || dims > tensor.dims.size()) {
    return WrongTensor(tensor.name, "has ", dims, " dimensions; 1 to ", tensor.dims.size(),
                       " are allowed");
  }
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < dims; ++i) {
    std::uint64_t dim = 0;
    if (!reader_.Read(dim)) {
      return WrongTensor(tensor.name, "its description lies past the end of the file");
    }
    if (dim == 0) return WrongTensor(tensor.name, "dimension ", i, " is 0");
    if (dim > kMax / elements) return WrongTensor(tensor.name, "its dimensions overflow");
    elements *= dim;
    tensor.dims[i] = static_cast<std::int64_t>(dim);
  }
  return absl::OkStatus();
}

absl::Status GgufParser::SizeTensor(StoredTensor& tensor, std::uint64_t offset) {
  const std::optional<kernels::BlockShape> shape = FindStoredType(tensor.type);
  if (!shape) {
    if (const std::string name(FindRemovedType(tensor.type)); !name.empty()) {
      return WrongTensor(tensor.name, "the format has no type ", name, " (", tensor.type,
                         ") any more: quantize the model again (supported: ", SupportedTypes(),
                         ")");
    }
    return WrongTensor(tensor.name, "unknown tensor type ", tensor.type,
                       " (supported: ", SupportedTypes(), ")");
  }
  const auto block = static_cast<std::uint64_t>(shape->block);
  const auto block_bytes = static_cast<std::uint64_t>(shape->bytes);
  if (static_cast<std::uint64_t>(tensor.dims[0]) % block != 0) {
    return WrongTensor(tensor.name, "its rows of ", tensor.dims[0], " elements are not whole ",
                       std::string(shape->name), " blocks of ", block);
  }
  std::uint64_t elements = 1;
  for (const std::int64_t dim : tensor.dims) elements *= static_cast<std::uint64_t>(dim);
  if (elements / block > bytes_.size() / block_bytes) {
    return WrongTensor(tensor.name, "its data is larger than the file");
  }
  if (offset % alignment_ != 0) {
    return WrongTensor(tensor.name, "its offset ", offset, " is not a multiple of the alignment ",
                       alignment_);
  }
  offsets_.push_back(offset);
  sizes_.push_back(elements / block * block_bytes);
  return absl::OkStatus();
}

absl::Status GgufParser::PlaceTensors() {
  const std::uint64_t padding = (alignment_ - reader_.position() % alignment_) % alignment_;
  const bool has_data = reader_.Skip(padding);
  const std::uint64_t data_bytes = has_data ? reader_.left() : 0;
  for (std::size_t i = 0; i < file_.tensors_.size(); ++i) {
    StoredTensor& tensor = file_.tensors_[i];
    if (offsets_[i] > data_bytes || sizes_[i] > data_bytes - offsets_[i]) {
      return WrongTensor(tensor.name, "its data ends past the end of the file");
    }
    tensor.data = {reader_.here() + offsets_[i], sizes_[i]};
  }
  return CheckApart();
}

// A file whose tensors overlap could ask for far more memory than it has bytes.
absl::Status GgufParser::CheckApart() const {
  std::vector<const StoredTensor*> tensors;
  for (const StoredTensor& tensor : file_.tensors_) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return a->data.data() < b->data.data();
  });
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    const StoredTensor& before = *tensors[i - 1];
    if (before.data.data() + before.data.size() > tensors[i]->data.data()) {
      return WrongTensor(tensors[i]->name, "its data overlaps that of ", Quote(before.name));
    }
  }
  return absl::OkStatus();
}

}  // namespace banyan::model
