#include "kernels/kv_shape.h"

#include <iterator>

namespace banyan::kernels {
namespace {

struct Layout {
  KvFormat format;
  std::string_view name;
  std::int64_t bytes;        // of a number
  std::int64_t scale_bytes;  // of a token's key or value in one head
};
constexpr std::array<Layout, std::size(kKvFormats)> kLayouts = {{{KvFormat::kF16, "f16", 2, 0},
                                                                {KvFormat::kBf16, "bf16", 2, 0},
                                                                {KvFormat::kFp8, "fp8", 1, 0},
                                                                {KvFormat::kInt8, "int8", 1, 2}}};

const Layout& LayoutOf(KvFormat format) { return kLayouts[static_cast<std::size_t>(format)]; }

}  // namespace

std::string_view NameOf(KvFormat format) { return LayoutOf(format).name; }

std::optional<KvFormat> FindKvFormat(std::string_view name) {
  for (const Layout& layout : kLayouts)
    if (layout.name == name) return layout.format;
  return std::nullopt;
}

std::int64_t BytesPerToken(const KvShape& shape) {
  const Layout& layout = LayoutOf(shape.format);
  return shape.values_per_token() * layout.bytes +
         std::int64_t{2} * shape.layers * shape.kv_heads * layout.scale_bytes;
}

}  // namespace banyan::kernels
