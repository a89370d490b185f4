#include "kernels/cpu/page_bounds.h"

#include <algorithm>

#include "kernels/bounds_bytes.h"
#include "kernels/cpu/key_bounds.h"

namespace banyan::kernels {

void PageBounds::Read(const PageStore& pages, std::int32_t layer,
                      std::span<const std::int32_t> wanted) {
  if (known_.empty()) {
    shape_ = pages.shape();
    bounds_ = Buffer::MapOrThrow(static_cast<std::size_t>(BoundsBytes(shape_) * shape_.pages));
    known_.resize(static_cast<std::size_t>(std::int64_t{shape_.pages} * shape_.layers));
  }
  unread_.clear();
  for (const std::int32_t page : wanted)
    if (Known(page, layer) == 0) unread_.push_back(page);
  if (unread_.empty()) return;
  std::ranges::sort(unread_);
  const auto repeated = std::ranges::unique(unread_);
  unread_.erase(repeated.begin(), repeated.end());
  pool_.ForPieces(std::ssize(unread_) * shape_.kv_heads, 1,
                  [&](std::int32_t /*thread*/, std::int64_t begin, std::int64_t /*end*/) {
                    const std::int32_t page =
                        unread_[static_cast<std::size_t>(begin / shape_.kv_heads)];
                    const auto kv_head = static_cast<std::int32_t>(begin % shape_.kv_heads);
                    std::uint16_t* to = bounds_.as<std::uint16_t>() + At(page, layer, kv_head);
                    ReadKeyBounds(ops_, pages, page, layer, kv_head, to, to + shape_.head_dim);
                  });
  for (const std::int32_t page : unread_) Known(page, layer) = 1;
}

void PageBounds::Forget(std::int32_t page) {
  if (known_.empty()) return;
  for (std::int32_t layer = 0; layer < shape_.layers; ++layer) Known(page, layer) = 0;
}

void PageBounds::Forget(std::int32_t page, std::int32_t layer) {
  if (!known_.empty()) Known(page, layer) = 0;
}

}  // namespace banyan::kernels
