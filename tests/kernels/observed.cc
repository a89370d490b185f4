#include "tests/kernels/observed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"
#include "kernels/cpu/variants.h"
#include "kernels/half.h"
#include "kernels/small_floats.h"

namespace banyan::kernels::testing {
namespace {

std::uint32_t SeedOf(std::int32_t what, std::int32_t layer, std::int64_t position) {
  return static_cast<std::uint32_t>((position * 8 + layer) * 4 + what);
}

double NumberAt(KvFormat format, const std::byte* at) {
  std::uint16_t half = 0;
  std::uint8_t code = 0;
  std::memcpy(&half, at, sizeof half);
  std::memcpy(&code, at, sizeof code);
  switch (format) {
    case KvFormat::kF16:
      return HalfToFloat(half);
    case KvFormat::kBf16:
      return Bf16ToFloat(half);
    case KvFormat::kFp8:
      return 256.0 * Fp8InUnits(code);
    case KvFormat::kInt8:
      return static_cast<std::int8_t>(code);
    case KvFormat::kInt4:
      ADD_FAILURE() << "slots of sealed pages are not told apart";
  }
  return 0;
}

}  // namespace

Observed::Observed(const ObservedKind& which, std::int32_t threads)
    : kind(which), pool(threads), observers(*FindCpuVariant(TestedVariant())->ops, pool) {
  const std::int32_t count = kSlots / kind.page_size + 8;
  EXPECT_TRUE(pages.Allocate({kLayers, kKvHeads, kHeadDim, kind.page_size, count, kind.format}));
}

// Not one beside the other.
std::vector<std::int32_t> Observed::Take(std::int64_t slots) {
  std::vector<std::int32_t> table;
  for (; std::ssize(table) * kind.page_size < slots; ++next_page_) table.push_back(next_page_);
  EXPECT_LE(next_page_, pages.shape().pages);
  std::reverse(table.begin(), table.end());
  return table;
}

Row Observed::QueryRow(std::int32_t layer, std::int64_t position) const {
  Row row = RandomRows(1, kKvHeads * kind.group * kHeadDim, SeedOf(0, layer, position), 1.5F)[0];
  if (position == bad_query_.position)
    row[static_cast<std::size_t>(bad_query_.head * kHeadDim)] =
        std::numeric_limits<float>::quiet_NaN();
  return row;
}

void Observed::Run(std::span<const RowRun> runs) {
  const Ops& ops = *FindCpuVariant(TestedVariant())->ops;
  const std::int64_t stride = kKvHeads * kind.group * kHeadDim;
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    std::vector<float> q;
    for (const RowRun& run : runs) {
      ASSERT_EQ(run.first_row * stride, std::ssize(q));
      for (std::int32_t i = 0; i < run.rows; ++i) {
        const std::int64_t position = run.first_position + i;
        const Row query = QueryRow(layer, position);
        q.insert(q.end(), query.begin(), query.end());
        Row key = RandomRows(1, kKvHeads * kHeadDim, SeedOf(1, layer, position))[0];
        const Row value = RandomRows(1, kKvHeads * kHeadDim, SeedOf(2, layer, position))[0];
        if (position == bad_key_) std::ranges::fill(key, std::numeric_limits<float>::quiet_NaN());
        const std::int64_t at = run.first_slot() + i;
        for (std::int32_t h = 0; h < kKvHeads; ++h)
          pages.Store(ops, key.data() + h * kHeadDim, value.data() + h * kHeadDim,
                      run.page(at / kind.page_size), layer, h,
                      static_cast<std::int32_t>(at % kind.page_size));
      }
    }
    observers.Observe({.pages = &pages,
                       .layer = layer,
                       .heads = kKvHeads * kind.group,
                       .scale = kScale,
                       .runs = runs,
                       .q = q.data(),
                       .stride = stride});
  }
}

void Observed::RunChunks(RowRun run, std::int32_t rows) {
  for (std::int32_t left = run.rows; left > 0; left -= run.rows) {
    run.rows = std::min(rows, left);
    Run(run);
    run.first_position += run.rows;
  }
}

std::vector<double> Observed::Key(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                                  std::int32_t slot) const {
  const std::byte* at = pages.Key(page, layer, kv_head, slot);
  const double scale =
      pages.has_scales() ? HalfToFloat(*pages.KeyScale(page, layer, kv_head, slot)) : 1.0;
  std::vector<double> key;
  for (int d = 0; d < kHeadDim; ++d, at += pages.key_stride() * pages.number_bytes())
    key.push_back(scale * NumberAt(kind.format, at));
  return key;
}

std::vector<std::byte> Observed::Bytes(std::span<const std::int32_t> table, std::int32_t layer,
                                       std::int32_t kv_head, std::int64_t slot) const {
  const std::int32_t page = table[static_cast<std::size_t>(slot / kind.page_size)];
  const auto in_page = static_cast<std::int32_t>(slot % kind.page_size);
  std::vector<std::byte> bytes;
  const auto add = [&](const void* from, std::int32_t count) {
    const auto* at = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), at, at + count);
  };
  const std::byte* key = pages.Key(page, layer, kv_head, in_page);
  for (int d = 0; d < kHeadDim; ++d)
    add(key + d * pages.key_stride() * pages.number_bytes(), pages.number_bytes());
  add(pages.Value(page, layer, kv_head, in_page), kHeadDim * pages.number_bytes());
  if (!pages.has_scales()) return bytes;
  add(pages.KeyScale(page, layer, kv_head, in_page), 2);
  add(pages.ValueScale(page, layer, kv_head, in_page), 2);
  return bytes;
}

std::vector<double> Observed::Probabilities(std::span<const std::int32_t> table, std::int32_t layer,
                                            std::int32_t kv_head, std::int64_t position,
                                            std::int64_t slots) const {
  const Row q = QueryRow(layer, position);
  std::vector<double> sums(static_cast<std::size_t>(slots));
  for (std::int32_t h = kv_head * kind.group; h < (kv_head + 1) * kind.group; ++h) {
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      const std::vector<double> key =
          Key(table[static_cast<std::size_t>(slot / kind.page_size)], layer, kv_head,
              static_cast<std::int32_t>(slot % kind.page_size));
      double score = 0;
      for (int d = 0; d < kHeadDim; ++d)
        score += static_cast<double>(q[static_cast<std::size_t>(h * kHeadDim + d)]) *
                 key[static_cast<std::size_t>(d)];
      weights.push_back(std::exp(static_cast<double>(kScale) * score));
      total += weights.back();
    }
    if (!std::isfinite(total)) continue;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weights[i] / total;
  }
  return sums;
}

}  // namespace banyan::kernels::testing
