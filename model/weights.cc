#include "model/weights.h"

#include <array>
#include <optional>

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
  if (!kernels::FindBlockShape(tensor.type)) {
    const std::optional<kernels::BlockShape> stored = FindStoredType(tensor.type);
    CHECK(stored.has_value());  // the file was checked when it was opened
    return absl::UnimplementedError(absl::StrCat(
        Named(name), ": the type ", std::string(stored->name), " is not supported yet"));
  }
  it->second.taken = true;
  return kernels::HostTensor{.type = static_cast<kernels::DType>(tensor.type),
                             .rows = rows,
                             .cols = cols,
                             .data = tensor.data.data()};
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

}  // namespace banyan::model
