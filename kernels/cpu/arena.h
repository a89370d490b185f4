// Weights live next to each other in few large mappings, so that huge pages can back them.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/buffer.h"

namespace banyan::kernels {

// Hands out memory that lives as long as the arena. Nothing is given back one by one.
class Arena {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{32} << 20;
  static constexpr std::size_t kAlignment = 64;

  // Zeroed, aligned to kAlignment; throws std::bad_alloc when the system has no more memory.
  std::byte* Allocate(std::size_t bytes);

 private:
  std::vector<Buffer> chunks_;
  std::size_t used_ = 0;    // of the last chunk
  std::size_t mapped_ = 0;  // of all chunks
};

}  // namespace banyan::kernels
