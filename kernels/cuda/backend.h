// The CUDA backend: weights and inputs of 16 bits, activations of 32, a paged KV store, all in one
// device's memory. Which call is which kernel is in docs/cuda.md.
//
// Thread safety: one thread at a time (the engine's) calls a backend, and TakeThread() says which.
// Matrices, vectors and buffers belong to the backend that made them and must not be used after it
// is destroyed. Calls return before the device is done; ReadRow, ReadPage, WritePage and
// TakeSampled wait for it. What fails on the device shows in failure(), at the latest once the
// backend has waited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/backend.h"
#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/numbers.h"
#include "kernels/kv_compaction.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class CudaBackend {
 public:
  // [rows, cols] numbers of Options::numbers, as the file's were worth.
  class Matrix {
   public:
    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }
    std::int64_t bytes() const { return rows_ * cols_ * 2; }

   private:
    friend class CudaBackend;
    std::int64_t rows_ = 0;
    std::int64_t cols_ = 0;
    const void* numbers_ = nullptr;
  };

  class Vector {
   public:
    std::int64_t size() const { return size_; }
    std::int64_t bytes() const { return size_ * std::int64_t{sizeof(float)}; }

   private:
    friend class CudaBackend;
    std::int64_t size_ = 0;
    const float* values_ = nullptr;
  };

  // [max_rows, cols]: floats, or as products read them, numbers of Options::numbers.
  template <class T>
  class Rows {
   public:
    std::int32_t max_rows() const { return max_rows_; }
    std::int32_t cols() const { return cols_; }

   private:
    friend class CudaBackend;
    T* data() const { return memory_.as<T>(); }
    std::int32_t max_rows_ = 0;
    std::int32_t cols_ = 0;
    cuda::DeviceBuffer memory_;
  };
  using Activations = Rows<float>;
  using Input = Rows<std::uint16_t>;

  struct Linear {
    Linear(const Matrix& w, const Vector* b = nullptr) : weights(&w), bias(b) {}  // NOLINT: is one
    const Matrix* weights;
    const Vector* bias;  // may be null
  };
  struct Product {
    Linear linear;
    Activations* out;
  };

  struct Options {
    std::int32_t device = 0;
    cuda::NumberType numbers = cuda::NumberType::kBf16;  // or kF16
    cuda::Gemm::Options gemm{};
  };
  // Null, and one line in `why`, where there is no such device or its memory cannot be had.
  static std::unique_ptr<CudaBackend> Create(const Options& options, std::string* why);
  ~CudaBackend();
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  std::string_view variant() const;  // the device's name
  void TakeThread();
  std::string failure() const;
  void Reserve(const StepSizes& sizes);
  std::int64_t FreeBytes() const;

  Matrix PackMatrix(const HostTensor& host);
  Vector PackVector(const HostTensor& host);
  Activations MakeActivations(std::int32_t max_rows, std::int32_t cols);
  Input MakeInput(std::int32_t max_rows, std::int32_t cols);

  void Embed(const Matrix& w, std::span<const std::int32_t> ids, float factor, Activations& x);
  void RmsNorm(const Activations& x, const Vector& weight, float eps, std::int32_t rows,
               Input& out);
  void RmsNormRows(const Activations& x, const Vector& weight, float eps,
                   std::span<const std::int32_t> rows, Input& out);
  void RmsNormHeads(const Vector& weight, float eps, std::int32_t rows, Activations& x);
  void RmsNormAdd(const Activations& in, const Vector& weight, float eps, std::int32_t rows,
                  Activations& x);
  void MatMul(const Linear& linear, const Input& in, std::int32_t rows, Activations& out);
  void MatMulAdd(const Linear& linear, const Input& in, std::int32_t rows, Activations& out);
  void MatMulEach(std::span<const Product> products, const Input& in, std::int32_t rows);
  void MatMulGate(GateFunction function, const Linear& gate, const Linear& up, const Input& in,
                  std::int32_t rows, Input& out);
  void RopeAndStore(Activations& q, Activations& k, const Activations& v, const Rope& rope,
                    std::span<const RowRun> runs, std::int32_t layer);
  void Attend(const Activations& q, const AttentionSpan& span, std::span<const RowRun> runs,
              std::int32_t layer, Input& out);
  void Observe(const Activations& q, const AttentionSpan& span, std::span<const RowRun> runs,
               std::int32_t layer);
  void Compact(std::span<const KvCompaction> compactions);
  void ReadRow(const Activations& x, std::int32_t row, std::span<float> out) const;
  void Sample(const Activations& logits, const SamplingWork& work);
  Sampled TakeSampled(std::int32_t draws, std::int32_t scores);

  static std::int64_t PageBytes(const KvShape& shape);
  bool AllocatePages(const KvShape& shape);
  std::size_t page_bytes() const;
  void CopySlots(std::span<const SlotCopy> copies);
  void ReadPage(std::int32_t page, std::span<std::byte> out) const;
  void WritePage(std::int32_t page, std::span<const std::byte> bytes);

 private:
  struct State;
  explicit CudaBackend(std::unique_ptr<State> state);

  template <class T>
  static Rows<T> MakeRows(std::int32_t max_rows, std::int32_t cols);
  // How many rows a product of so many writes.
  std::int32_t RowsWritten(const Input& in, std::int32_t rows) const;
  // y = linear(in), or y += it.
  void Multiply(const Linear& linear, const Input& in, std::int32_t rows, float* y, bool adds);

  std::unique_ptr<State> state_;
};

static_assert(DeviceBackend<CudaBackend> && CompactingBackend<CudaBackend> &&
              SamplingBackend<CudaBackend>);

}  // namespace banyan::kernels
