#include "model/weights.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/quote.h"
#include "model/ggml_types.h"

namespace banyan::model {
namespace {

std::string Named(std::string_view name) { return absl::StrCat("tensor ", Quote(name)); }

}  // namespace

TensorSet::TensorSet(const File& file) : file_(file) {
  for (const StoredTensor& tensor : file.tensors()) tensors_[tensor.name].tensor = &tensor;
}

absl::StatusOr<kernels::HostTensor> TensorSet::Take(std::string_view name, std::int64_t rows,
                                                    std::int64_t cols) {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) return absl::InvalidArgumentError(Named(name) + " is missing");
  const StoredTensor& tensor = *it->second.tensor;
  if (tensor.dims != std::array<std::int64_t, 4>{cols, rows, 1, 1}) {
    return absl::InvalidArgumentError(absl::StrCat(Named(name), " has the dimensions ",
                                                   absl::StrJoin(tensor.dims, " x "),
                                                   " instead of ", cols, " x ", rows));
  }
  it->second.taken = true;
  return kernels::HostTensor{.type = static_cast<kernels::DType>(tensor.type),
                             .rows = rows,
                             .cols = cols,
                             .data = tensor.data.data()};
}

absl::StatusOr<std::vector<float>> TensorSet::TakeValues(std::string_view name, std::int64_t size) {
  const absl::StatusOr<kernels::HostTensor> tensor = Take(name, 1, size);
  if (!tensor.ok()) return tensor.status();
  if (!kernels::FindBlockShape(static_cast<std::uint32_t>(tensor->type))) {
    return absl::UnimplementedError(
        absl::StrCat(Named(name), ": the type ",
                     std::string(TensorTypeName(static_cast<std::uint32_t>(tensor->type))),
                     " is not supported"));
  }
  std::vector<float> values(static_cast<std::size_t>(size));
  kernels::DequantizeRow(*tensor, 0, values);
  return values;
}

std::int64_t TensorSet::Rows(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? 0 : it->second.tensor->dims[1];
}

void TensorSet::Release(std::string_view name) const {
  const auto it = tensors_.find(name);
  CHECK(it != tensors_.end());
  file_.Release(*it->second.tensor);
}

absl::Status TensorSet::CheckAllTaken(std::string_view architecture) const {
  for (const StoredTensor& tensor : file_.tensors()) {
    if (tensors_.at(tensor.name).taken) continue;
    return absl::UnimplementedError(
        absl::StrCat(Named(tensor.name), " is not used by Banyan's ", std::string(architecture),
                     " architecture: running without it would give wrong answers"));
  }
  return absl::OkStatus();
}

std::vector<std::string> UnsupportedTypes(const File& file) {
  absl::flat_hash_map<std::uint32_t, std::int64_t> counts;
  std::vector<const StoredTensor*> firsts;
  for (const StoredTensor& tensor : file.tensors()) {
    if (kernels::FindBlockShape(tensor.type)) continue;
    if (++counts[tensor.type] == 1) firsts.push_back(&tensor);
  }
  std::vector<std::string> problems;
  for (const StoredTensor* first : firsts) {
    const std::int64_t count = counts[first->type];
    problems.push_back(absl::StrCat(Named(first->name), ": the type ",
                                    std::string(TensorTypeName(first->type)), " is not supported (",
                                    count, count == 1 ? " tensor has" : " tensors have",
                                    " it; supported: ", SupportedTypes(), ")"));
  }
  return problems;
}

}  // namespace banyan::model
