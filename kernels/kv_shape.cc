#include "kernels/kv_shape.h"

#include <iterator>

namespace banyan::kernels {
namespace {

// By the numbers of the formats.
constexpr std::array<KvLayout, std::size(kKvFormats)> kLayouts = {
    {{"f16", 2, 0}, {"bf16", 2, 0}, {"fp8", 1, 0}, {"int8", 1, 2}}};

}  // namespace

const KvLayout& LayoutOf(KvFormat format) { return kLayouts[static_cast<std::size_t>(format)]; }

std::optional<KvFormat> FindKvFormat(std::string_view name) {
  for (const KvFormat format : kKvFormats)
    if (LayoutOf(format).name == name) return format;
  return std::nullopt;
}

std::int64_t BytesPerToken(const KvShape& shape) {
  const KvLayout& layout = LayoutOf(shape.format);
  return shape.values_per_token() * layout.bytes +
         std::int64_t{2} * shape.layers * shape.kv_heads * layout.scale_bytes;
}

}  // namespace banyan::kernels
