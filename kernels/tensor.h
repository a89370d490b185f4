// Tensors as a model file holds them, and the shapes that backends are told.
// This room depends on nothing but the standard library and the toolkit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/key_window.h"
#include "kernels/kv_compaction.h"
#include "kernels/page_choice.h"

namespace banyan::kernels {

// GGML tensor types that Banyan knows; the values are those of the GGUF format.
enum class DType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kBF16 = 30,
};

// Elements are stored in blocks along a row: `block` elements in `bytes` bytes.
struct BlockShape {
  std::string_view name;  // "Q4_1"
  std::int64_t block = 1;
  std::int64_t bytes = 0;
};
// Nothing for a type that is not in DType.
std::optional<BlockShape> FindBlockShape(std::uint32_t gguf_type);
BlockShape ShapeOf(DType type);

// A matrix [rows, cols] in the file's own layout, row after row; each row is whole blocks.
// A vector has one row.
struct HostTensor {
  DType type = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const std::byte* data = nullptr;
};

// The plain reference: row `row` of `tensor` as floats, exactly as the format defines them.
void DequantizeRow(const HostTensor& tensor, std::int64_t row, std::span<float> out);
// The same for the one block at `block`: ShapeOf(type).block floats.
void DequantizeBlock(DType type, const std::byte* block, float* out);

// Which elements of a head one angle turns.
enum class RopePairs : std::uint8_t {
  kNeighbours,  // x[2i] and x[2i + 1]
  kHalves,      // x[i] and x[i + dims / 2]
};

// Rotary position embedding of the first `dims` elements of a head: pair i is turned by
// scale * position * base^(-2i/dims) / factors[i]. Su et al., "RoFormer", 2021; `scale` is 1/factor
// of linear scaling (Chen et al., "Extending context window", 2023).
struct Rope {
  std::int32_t dims = 0;
  float base = 10000.0F;
  float scale = 1.0F;
  RopePairs pairs = RopePairs::kNeighbours;
  std::span<const float> factors{};  // dims / 2 of them or none (all 1); they outlive the calls
};

// The function that gates a feed-forward layer. Shazeer, "GLU variants", 2020.
enum class GateFunction : std::uint8_t {
  kSilu,      // x / (1 + exp(-x))
  kGeluTanh,  // x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2. Hendrycks & Gimpel, 2016
};

// What a query sees of the keys before it: at position p those at p - window + 1 .. p.
struct AttentionSpan {
  float scale = 1.0F;       // of the scores
  std::int64_t window = 0;  // 0: all; else no run has a window of its own, or is compacted
  // As the layer's queries were roped: it turns them to where sinks are met.
  const Rope* rope = nullptr;
};

// Rows first_row .. first_row + rows - 1 of a step's activations: consecutive positions of one
// view.
struct RowRun {
  std::int32_t first_row = 0;
  std::int32_t rows = 0;
  std::int64_t first_position = 0;
  std::span<const std::int32_t> pages;  // the page table, as in batch.h
  KeyWindow window{};
  // The table names the first `front_pages` pages and, `dropped_pages` further on, all others.
  std::int64_t front_pages = 0;
  std::int64_t dropped_pages = 0;
  // Where pages are sealed when they are full: the open page of the view, which is no other run's.
  std::int32_t open_page = 0;
  // The token at position p is in slot p - compacted, and sees all slots up to it: so many before
  // the first row's were given up by compaction. 0 where there is a window.
  std::int64_t compacted = 0;
  Observation observation{};
  PageChoice choice{};  // where it is made there is no window, and nothing is compacted or observed
  // The table is one for each KV head, one after the other, each of so many pages; 0: one for all.
  std::int64_t pages_per_head = 0;

  std::int64_t first_slot() const { return first_position - compacted; }
  // The page of slots index * page_size and on.
  std::int32_t page(std::int64_t index, std::int32_t kv_head = 0) const {
    const std::int64_t named = index < front_pages ? index : index - dropped_pages;
    return pages[static_cast<std::size_t>(kv_head * pages_per_head + named)];
  }
};

struct SlotCopy {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t slots = 0;
};

}  // namespace banyan::kernels
