// How fast this machine reads memory: the roof of whatever reads each byte once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/thread_pool.h"

namespace banyan::kernels {

// Memory of its own that `threads` threads read from end to end, each a contiguous share: one load
// per line of 64 bytes, so that nothing but the memory (or the cache, if it fits one) sets the
// pace.
class StreamingRead {
 public:
  // Throws std::bad_alloc or std::system_error where the system refuses memory or threads.
  StreamingRead(std::int32_t threads, std::size_t bytes);

  // Reads part `part` of `parts` of each thread's share, again and again.
  void Run(std::int64_t part = 0, std::int64_t parts = 1, std::int32_t times = 1);
  std::size_t bytes() const { return memory_.size(); }

 private:
  ThreadPool pool_;
  Buffer memory_;
};

}  // namespace banyan::kernels
