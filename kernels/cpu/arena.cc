#include "kernels/cpu/arena.h"

#include <algorithm>

namespace banyan::kernels {

std::byte* Arena::Allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (chunks_.empty() || chunks_.back().size() - used_ < rounded) {
    chunks_.push_back(Buffer::MapOrThrow(std::max(rounded, kChunkBytes)));
    used_ = 0;
  }
  std::byte* at = chunks_.back().as<std::byte>() + used_;
  used_ += rounded;
  return at;
}

}  // namespace banyan::kernels
