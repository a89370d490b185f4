// Memory for the small parts of a tree, its edges and forks: blocks of few sizes, cut from slabs.
//
// A large tree comes and goes by such blocks, in an order that has nothing to do with where they
// lie. A general allocator joins neighbours again and waits for cold memory at each; here a block
// goes to the list of its size and nothing else is looked at. Slabs lie side by side and
// may become huge pages: the processor translates addresses in fewer entries.
//
// What is larger than kMaxBytes is the general allocator's. Slabs are given back all at once, so
// that the memory of each size is what that size needed at its peak.
//
// Internal to this room.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace banyan::radix {

inline constexpr std::size_t kFirstSlabBytes = std::size_t{16} << 10;  // all of a small tree
inline constexpr std::size_t kSlabBytes = std::size_t{2} << 20;        // as a huge page

struct FreeSlab {
  std::size_t bytes;
  void operator()(std::byte* slab) const;
};
using Slab = std::unique_ptr<std::byte, FreeSlab>;

// Memory of its own from the system, resident once written: kFirstSlabBytes, and kSlabBytes at a
// border of huge pages.
Slab NewFirstSlab();
Slab NewSlab();

class Blocks {
 public:
  static constexpr std::size_t kMaxBytes = 2112;  // all forks are smaller

  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks();  // with all small blocks; larger ones must have been freed

  void* Allocate(std::size_t bytes);  // at least one; aligned to 16
  void Free(void* block, std::size_t bytes);

 private:
  static constexpr std::size_t kUnit = 16;
  struct Unused {
    Unused* next;
  };

  void* Cut(std::size_t bytes);

  std::array<Unused*, kMaxBytes / kUnit + 1> unused_{};  // by size in units
  std::vector<Slab> slabs_;
  std::size_t used_ = 0;  // of the last slab
  std::size_t size_ = 0;  // of the last slab
};

}  // namespace banyan::radix
