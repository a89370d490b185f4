// Who touched which byte of a block's shared memory since when: finds accesses whose order no
// barrier decides, reads of what nobody wrote, and accesses outside.
//
// Two accesses of one byte are in order when one thread made both, when a __syncthreads lies
// between them, or, within a warp, a __syncwarp of all its lanes. Else they are a race, unless both
// read or both are atomic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace banyan::kernels::cuda::emulation {

class RaceCheck {
 public:
  enum class Kind : std::uint8_t { kRead, kWrite, kAtomic };
  // Who, and after how many barriers of the block and of the warp.
  struct Access {
    std::uint32_t thread = 0;
    std::uint32_t warp = 0;
    std::uint32_t block_barriers = 0;
    std::uint32_t warp_barriers = 0;
  };

  // A region that accesses may lie in, and whose bytes nobody wrote yet.
  void AddRegion(const std::byte* begin, std::size_t bytes);
  void Clear() { regions_.clear(); }

  // Empty, or what is wrong with it.
  std::string Check(const void* address, std::size_t bytes, Kind kind, const Access& access);

 private:
  // Accesses since the block's last barrier, as far as later ones can conflict with them.
  struct Group {
    bool any = false;
    bool many_warps = false;
    bool many_threads = false;  // since the warp's last barrier
    Access last;
    std::uint32_t other = 0;  // a thread that is not last.thread, where many are

    // A thread that did it, another one than `thread` where there is one.
    std::uint32_t OtherThan(std::uint32_t thread) const {
      return last.thread != thread ? last.thread : other;
    }
    bool Conflicts(const Access& access) const;
    void Add(const Access& access);
  };
  struct Cell {
    bool written = false;
    Group reads;
    Group writes;
    Group atomics;
  };
  struct Region {
    const std::byte* begin = nullptr;
    std::vector<Cell> cells;
  };

  static std::string CheckCell(Cell& cell, Kind kind, const Access& access);

  std::vector<Region> regions_;
};

}  // namespace banyan::kernels::cuda::emulation
