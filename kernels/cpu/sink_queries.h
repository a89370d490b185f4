// Queries for attention sinks, where a window cuts what is seen (key_window.h): as if they were
// roped at the window's capacity - 1, made of those that are roped at their own positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/rope_table.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

// A row's bits depend on the row, its position and its window alone.
class SinkQueries {
 public:
  struct Call {
    std::span<const RowRun> runs;
    const Rope* rope = nullptr;  // of q; not null where a row sees sinks
    std::int32_t heads = 0;
    std::int32_t head_dim = 0;
    const float* q = nullptr;  // [rows, heads, head_dim], rows `stride` apart
    std::int64_t stride = 0;
    bool spread = false;  // whether q is in the basis of SpreadsKeys, as the result is then
  };

  SinkQueries(const Ops& ops, ThreadPool& pool) : ops_(ops), pool_(pool) {}

  // As q, of the rows that see sinks; others are undefined. Null where there are none. Valid until
  // the next call, whose angles cost nothing where rows and rope are the same.
  const float* Turn(const Call& call);

 private:
  // Work on fewer values than this is not worth waking the other threads.
  static constexpr std::int64_t kParallelValues = 8192;

  const Ops& ops_;
  ThreadPool& pool_;
  RopeTable table_;
  std::vector<std::int32_t> rows_;   // of the step, those that see sinks
  std::vector<std::int64_t> turns_;  // in positions, of each of them
  Buffer turned_;
};

}  // namespace banyan::kernels
