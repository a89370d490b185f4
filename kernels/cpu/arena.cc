#include "kernels/cpu/arena.h"

#include <algorithm>

namespace banyan::kernels {

std::byte* Arena::Allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (chunks_.empty() || chunks_.back().size() - used_ < rounded) {
    // Growing, so that what a huge page wastes at a chunk's end stays small beside large weights.
    const std::size_t chunk = std::max({rounded, kChunkBytes, mapped_ / 8});
    chunks_.push_back(Buffer::MapOrThrow(chunk));
    mapped_ += chunk;
    used_ = 0;
  }
  std::byte* at = chunks_.back().as<std::byte>() + used_;
  used_ += rounded;
  return at;
}

}  // namespace banyan::kernels
