#include "kernels/kv_shape.h"

#include <iterator>

namespace banyan::kernels {
namespace {

// By the numbers of the formats.
constexpr std::array<KvLayout, 5> kLayouts = {
    {{"f16", 2, 0}, {"bf16", 2, 0}, {"fp8", 1, 0}, {"int8", 1, 2}, {"int4", 0, 0}}};

// A token's key and value in one head: codes, and its share of a scale and a zero for each
// dimension of sixteen keys, and of a scale for each 32 of the value.
std::int64_t SealedBytes(std::int64_t head_dim) {
  return head_dim + head_dim * 3 / 16 + head_dim / 32 * 2;
}

}  // namespace

const KvLayout& LayoutOf(KvFormat format) { return kLayouts[static_cast<std::size_t>(format)]; }

std::optional<KvFormat> FindKvFormat(std::string_view name) {
  for (const KvFormat format : kKvFormats)
    if (LayoutOf(format).name == name) return format;
  return std::nullopt;
}

std::int64_t BytesPerToken(const KvShape& shape) {
  if (shape.format == KvFormat::kInt4)
    return std::int64_t{shape.layers} * shape.kv_heads * SealedBytes(shape.head_dim);
  const KvLayout& layout = LayoutOf(shape.format);
  return shape.values_per_token() * layout.bytes +
         std::int64_t{2} * shape.layers * shape.kv_heads * layout.scale_bytes;
}

std::int64_t OpenBytes(const KvShape& shape) {
  if (!SealsPages(shape.format)) return 0;
  KvShape open = shape;
  open.format = KvFormat::kF16;
  return BytesPerToken(open) * shape.page_size * shape.open_pages;
}

}  // namespace banyan::kernels
