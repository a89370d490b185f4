// From a file's tensors to a backend's weights: looks up by name, checks shape and type, packs, and
// lets go of the file's memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/tensor.h"
#include "model/model.h"

namespace banyan::model {

// The tensors of a file (which outlives it), and which of them were taken.
class TensorSet {
 public:
  explicit TensorSet(const File& file);

  bool Has(std::string_view name) const { return tensors_.contains(name); }
  // The matrix [rows, cols] of that name; a vector has one row. kInvalidArgument when it is missing
  // or has another shape. Its type may be one of UnsupportedTypes: nobody reads such a tensor.
  absl::StatusOr<kernels::HostTensor> Take(std::string_view name, std::int64_t rows,
                                           std::int64_t cols);
  // The numbers of the vector of that name, for settings that are stored as a tensor.
  absl::StatusOr<std::vector<float>> TakeValues(std::string_view name, std::int64_t size);
  // The rows of the matrix of that name; 0 when it is missing.
  std::int64_t Rows(std::string_view name) const;
  void Release(std::string_view name) const;

  // kUnimplemented names a tensor that nobody took: ignoring it would give wrong answers silently.
  absl::Status CheckAllTaken(std::string_view architecture) const;

 private:
  struct Entry {
    const StoredTensor* tensor = nullptr;
    bool taken = false;
  };

  const File& file_;
  absl::flat_hash_map<std::string_view, Entry> tensors_;
};

// Tensor types of a file that no kernel reads, each in a line that names its first tensor.
std::vector<std::string> UnsupportedTypes(const File& file);

// Packs weights one by one. After the first error it does nothing more and keeps that error, so
// that a list of weights reads as a list. Each tensor's file memory is released once it is packed,
// so that weights are resident once.
template <class B>
class WeightPacker {
 public:
  WeightPacker(B& backend, TensorSet& tensors) : backend_(backend), tensors_(tensors) {}

  typename B::Matrix Matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    return Pack<typename B::Matrix>(name, rows, cols, [&](const kernels::HostTensor& host) {
      return backend_.PackMatrix(host);
    });
  }
  typename B::Vector Vector(const std::string& name, std::int64_t size) {
    return Pack<typename B::Vector>(
        name, 1, size, [&](const kernels::HostTensor& host) { return backend_.PackVector(host); });
  }

  bool Has(std::string_view name) const { return tensors_.Has(name); }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  std::int64_t bytes() const { return bytes_; }            // of what was packed
  std::int64_t parameters() const { return parameters_; }  // elements of what was packed

 private:
  template <class Weight, class Packing>
  Weight Pack(const std::string& name, std::int64_t rows, std::int64_t cols, Packing packing) {
    if (!ok()) return {};
    const absl::StatusOr<kernels::HostTensor> host = tensors_.Take(name, rows, cols);
    if (!host.ok()) {
      status_ = host.status();
      return {};
    }
    Weight weight = packing(*host);
    bytes_ += weight.bytes();
    parameters_ += rows * cols;
    tensors_.Release(name);
    return weight;
  }

  B& backend_;
  TensorSet& tensors_;
  absl::Status status_;
  std::int64_t bytes_ = 0;
  std::int64_t parameters_ = 0;
};

}  // namespace banyan::model
