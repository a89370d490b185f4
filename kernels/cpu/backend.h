// The CPU backend: packed weights, quantized activations, a paged KV store.
//
// Thread safety: one thread at a time (the engine's) calls a backend; the backend's own workers
// never outlive a call's work. Matrices, vectors and buffers belong to the backend that made them
// and must not be used after it is destroyed.
//
// Rules that every operation keeps are in docs/kernels.md; the layouts are in kernels/cpu/ops.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/buffer.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class CpuBackend {
 public:
  static constexpr std::int32_t kMaxThreads = 256;

  // Weights in tiles of sixteen interleaved rows; memory of the backend's arena.
  class Matrix {
   public:
    DType type() const { return type_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }
    std::int64_t bytes() const { return bytes_; }  // resident, padding included

   private:
    friend class CpuBackend;
    DType type_ = DType::kF32;
    std::int64_t rows_ = 0;
    std::int64_t cols_ = 0;
    std::int64_t bytes_ = 0;
    std::byte* tiles_ = nullptr;
  };

  class Vector {
   public:
    std::int64_t size() const { return size_; }
    std::int64_t bytes() const { return size_ * std::int64_t{sizeof(float)}; }

   private:
    friend class CpuBackend;
    std::int64_t size_ = 0;
    float* values_ = nullptr;
  };

  // [max_rows, cols] floats, rows `stride` apart.
  class Activations {
   public:
    std::int32_t max_rows() const { return max_rows_; }
    std::int32_t cols() const { return cols_; }

   private:
    friend class CpuBackend;
    float* row(std::int64_t r) { return memory_.as<float>() + r * stride_; }
    const float* row(std::int64_t r) const { return memory_.as<float>() + r * stride_; }
    std::int32_t max_rows_ = 0;
    std::int32_t cols_ = 0;
    std::int64_t stride_ = 0;
    Buffer memory_;
  };

  // [max_rows, cols] as MatMul reads it: int8 with a scale per 32 values, and floats where a matrix
  // of floats may read them. The memory of a form that nobody reads is never touched.
  class Input {
   public:
    std::int32_t max_rows() const { return max_rows_; }
    std::int32_t cols() const { return cols_; }

   private:
    friend class CpuBackend;
    std::int32_t max_rows_ = 0;
    std::int32_t cols_ = 0;
    bool has_floats_ = false;  // of the rows written last
    Buffer blocks_;            // QuantBlock [max_rows, cols / 32]; empty when that is not whole
    Buffer floats_;            // float [max_rows, cols], rows `stride_` apart
    std::int64_t stride_ = 0;
  };

  struct Linear {
    Linear(const Matrix& w, const Vector* b = nullptr) : weights(&w), bias(b) {}  // NOLINT: is one
    const Matrix* weights;
    const Vector* bias;  // may be null
  };
  struct Product {
    Linear linear;
    Activations* out;
  };

  // kBound: every thread keeps to a processor of its own, and weights lie, where memory is not the
  // same for all, near the one that multiplies with them.
  enum class Threads : std::uint8_t { kFree, kBound };

  // `threads` compute threads, 1..kMaxThreads, the caller's among them; the quickest variant that
  // this machine runs, or the one of that name (variants.h). Null when it runs none such. Throws
  // std::system_error when the system refuses the threads.
  static std::unique_ptr<CpuBackend> Create(std::int32_t threads, std::string_view variant = "",
                                            Threads binding = Threads::kFree);
  // The names that this machine runs, the quickest first.
  static std::vector<std::string_view> Variants();
  ~CpuBackend();
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  std::int32_t threads() const;
  std::string_view variant() const;

  void TakeThread();

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
  void MatMulGreatest(const Linear& linear, const Input& in, std::span<std::int32_t> out);
  void RopeAndStore(Activations& q, Activations& k, const Activations& v, const Rope& rope,
                    std::span<const RowRun> runs, std::int32_t layer);
  void Attend(const Activations& q, const AttentionSpan& span, std::span<const RowRun> runs,
              std::int32_t layer, Input& out);
  void Observe(const Activations& q, const AttentionSpan& span, std::span<const RowRun> runs,
               std::int32_t layer);
  void ReadRow(const Activations& x, std::int32_t row, std::span<float> out) const;

  static std::int64_t PageBytes(const KvShape& shape);
  bool AllocatePages(const KvShape& shape);
  std::size_t page_bytes() const;
  void CopySlots(std::span<const SlotCopy> copies);
  void Compact(std::span<const KvCompaction> compactions);
  void ReadPage(std::int32_t page, std::span<std::byte> out) const;
  void WritePage(std::int32_t page, std::span<const std::byte> bytes);

 private:
  struct State;  // ops, threads, arena, page store, scratch
  explicit CpuBackend(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

static_assert(CompactingBackend<CpuBackend> && HostSamplingBackend<CpuBackend>);

}  // namespace banyan::kernels
