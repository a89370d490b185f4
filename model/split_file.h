// A model that was split into several files: NAME-00001-of-00003.gguf and so on. The first part
// holds every key, each part some of the tensors and its place in the keys split.no (from 0),
// split.count and split.tensors.count (the tensors of all parts).
//
// Invariants once joined:
//  1. Part i says that it is number i of as many parts as there are.
//  2. A tensor is in one part only; together they are as many as the first part says.
//  3. A key of a later part has the value that it has in the first (but for split.* and
//     general.alignment, which are of the part itself).
//
// Immutable, thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/gguf.h"
#include "model/model.h"

namespace banyan::model {

inline constexpr std::int64_t kMaxParts = 1024;

class SplitFile final : public File {
 public:
  // The model whose first part, `first`, was read from `path`. kInvalidArgument when `path` is not
  // named like a first part or a part does not belong; kNotFound names one that is missing.
  static absl::StatusOr<std::unique_ptr<SplitFile>> Open(const std::string& path,
                                                         std::unique_ptr<Gguf> first);
  // At least one part, in order. kInvalidArgument names the part, and what is wrong with it.
  static absl::StatusOr<std::unique_ptr<SplitFile>> Join(std::vector<std::unique_ptr<Gguf>> parts);

  const Metadata& metadata() const override { return parts_.front()->metadata(); }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  void Release(const StoredTensor& tensor) const override;
  std::int64_t bytes() const override;
  std::int32_t parts() const override { return static_cast<std::int32_t>(parts_.size()); }

 private:
  SplitFile() = default;
  absl::Status CheckPart(std::size_t index) const;
  absl::Status CheckKeys(std::size_t index) const;
  absl::Status AddTensors();

  std::vector<std::unique_ptr<Gguf>> parts_;
  std::vector<StoredTensor> tensors_;  // part after part
};

// How many parts the model has that `file` belongs to; 1 when it stands alone. kInvalidArgument
// when split.count is no number from 0 to kMaxParts.
absl::StatusOr<std::int64_t> PartsOf(const Gguf& file);

}  // namespace banyan::model
