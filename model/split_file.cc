#include "model/split_file.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/quote.h"

namespace banyan::model {
namespace {

constexpr std::string_view kNumber = "split.no";
constexpr std::string_view kCount = "split.count";
constexpr std::string_view kTensors = "split.tensors.count";

std::string PartEnding(std::int64_t index, std::int64_t count) {
  return absl::StrFormat("-%05d-of-%05d.gguf", index + 1, count);
}

// `path` without the ending of part `index`; nothing when it is named otherwise.
std::optional<std::string> PartStem(const std::string& path, std::int64_t index,
                                    std::int64_t count) {
  const std::string ending = PartEnding(index, count);
  if (!absl::EndsWith(path, ending) || path.size() == ending.size()) return std::nullopt;
  return path.substr(0, path.size() - ending.size());
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string PartName(std::size_t index, std::size_t count) {
  return absl::StrCat("part ", index + 1, " of ", count);
}

absl::Status WrongPart(std::size_t index, std::size_t count, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(PartName(index, count), ": ", what));
}

// The file is a later part: says which one to name instead.
absl::Status NotTheFirst(const std::string& path, std::int64_t number, std::int64_t count) {
  const std::optional<std::string> stem = PartStem(path, number, count);
  return absl::InvalidArgumentError(absl::StrCat(
      "the file is part ", number + 1, " of ", count, ": name the first part instead",
      stem ? absl::StrCat(", ", Quote(FileName(*stem + PartEnding(0, count)))) : std::string()));
}

bool IsOfThePartItself(std::string_view key) {
  return key.starts_with("split.") || key == "general.alignment";
}

std::string Shown(const std::optional<std::int64_t>& number) {
  return number ? absl::StrCat("is ", *number) : "is missing or not an integer";
}

}  // namespace

absl::StatusOr<std::int64_t> PartsOf(const Gguf& file) {
  if (!file.Has(kCount)) return 1;
  const std::optional<std::int64_t> count = file.Integer(kCount);
  if (!count || *count < 0 || *count > kMaxParts) {
    return absl::InvalidArgumentError(
        absl::StrCat("key 'split.count' ", count ? absl::StrCat("is ", *count) : "is no integer",
                     "; 0 to ", kMaxParts, " is allowed"));
  }
  return std::max<std::int64_t>(*count, 1);  // 0: parts that were merged again
}

absl::StatusOr<std::unique_ptr<SplitFile>> SplitFile::Open(const std::string& path,
                                                           std::unique_ptr<Gguf> first) {
  const absl::StatusOr<std::int64_t> count = PartsOf(*first);
  if (!count.ok()) return count.status();
  const std::int64_t number = first->Integer(kNumber).value_or(0);
  if (0 < number && number < *count) return NotTheFirst(path, number, *count);
  const std::optional<std::string> stem = PartStem(path, 0, *count);
  if (!stem) {
    return absl::InvalidArgumentError(absl::StrCat("key 'split.count' is ", *count,
                                                   ", so that the file's name should end in ",
                                                   PartEnding(0, *count)));
  }
  std::vector<std::unique_ptr<Gguf>> parts;
  parts.push_back(std::move(first));
  for (std::int64_t i = 1; i < *count; ++i) {
    const std::string part = *stem + PartEnding(i, *count);
    absl::StatusOr<Mapping> mapping = Mapping::Open(part);
    absl::StatusOr<std::unique_ptr<Gguf>> file =
        mapping.ok() ? Gguf::Parse(*std::move(mapping)) : mapping.status();
    if (!file.ok()) {
      const auto index = static_cast<std::size_t>(i);
      return absl::Status(file.status().code(),
                          absl::StrCat(PartName(index, static_cast<std::size_t>(*count)), ", ",
                                       Quote(FileName(part)), ": ", file.status().message()));
    }
    parts.push_back(*std::move(file));
  }
  return Join(std::move(parts));
}

absl::StatusOr<std::unique_ptr<SplitFile>> SplitFile::Join(
    std::vector<std::unique_ptr<Gguf>> parts) {
  std::unique_ptr<SplitFile> file(new SplitFile);
  file->parts_ = std::move(parts);
  for (std::size_t i = 0; i < file->parts_.size(); ++i) {
    if (absl::Status status = file->CheckPart(i); !status.ok()) return status;
    if (absl::Status status = file->CheckKeys(i); !status.ok()) return status;
  }
  if (absl::Status status = file->AddTensors(); !status.ok()) return status;
  return file;
}

absl::Status SplitFile::CheckPart(std::size_t index) const {
  const Gguf& part = *parts_[index];
  const std::size_t count = parts_.size();
  const std::optional<std::int64_t> said = part.Integer(kCount);
  if (said != static_cast<std::int64_t>(count)) {
    return WrongPart(index, count,
                     absl::StrCat("key 'split.count' ", Shown(said), " instead of ", count));
  }
  const std::optional<std::int64_t> number = part.Integer(kNumber);
  if (number != static_cast<std::int64_t>(index)) {
    return WrongPart(index, count,
                     absl::StrCat("key 'split.no' ", Shown(number), " instead of ", index));
  }
  return absl::OkStatus();
}

absl::Status SplitFile::CheckKeys(std::size_t index) const {
  const Gguf& part = *parts_[index];
  const Gguf& first = *parts_.front();
  std::optional<std::string_view> wrong;  // the least of them: the same one in every run
  for (const std::string_view key : part.keys()) {
    if (!IsOfThePartItself(key) && !part.HasSameValue(key, first) && (!wrong || key < *wrong)) {
      wrong = key;
    }
  }
  if (!wrong) return absl::OkStatus();
  return WrongPart(index, parts_.size(),
                   absl::StrCat("key ", Quote(*wrong),
                                first.Has(*wrong) ? " has another value than in the first part"
                                                  : " is not in the first part"));
}

absl::Status SplitFile::AddTensors() {
  absl::flat_hash_map<std::string_view, std::size_t> part_of;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    for (const StoredTensor& tensor : parts_[i]->tensors()) {
      const auto [other, is_new] = part_of.try_emplace(tensor.name, i);
      if (!is_new) {
        return absl::InvalidArgumentError(absl::StrCat("tensor ", Quote(tensor.name),
                                                       ": is in part ", other->second + 1,
                                                       " and in part ", i + 1));
      }
      tensors_.push_back(tensor);
    }
    const std::optional<std::int64_t> total = parts_[i]->Integer(kTensors);
    if (total != parts_.front()->Integer(kTensors)) {
      return WrongPart(
          i, parts_.size(),
          absl::StrCat("key 'split.tensors.count' ", Shown(total), ", unlike in the first part"));
    }
  }
  const std::optional<std::int64_t> total = parts_.front()->Integer(kTensors);
  if (total != static_cast<std::int64_t>(tensors_.size())) {
    return absl::InvalidArgumentError(absl::StrCat("key 'split.tensors.count' ", Shown(total),
                                                   ", but the parts have ", tensors_.size(),
                                                   " tensors"));
  }
  return absl::OkStatus();
}

void SplitFile::Release(const StoredTensor& tensor) const {
  for (const std::unique_ptr<Gguf>& part : parts_) {
    if (part->Holds(tensor)) part->Release(tensor);
  }
}

std::int64_t SplitFile::bytes() const {
  std::int64_t sum = 0;
  for (const std::unique_ptr<Gguf>& part : parts_) sum += part->bytes();
  return sum;
}

}  // namespace banyan::model
