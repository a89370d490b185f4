#include "kernels/cpu/sink_queries.h"

#include <algorithm>

#include "kernels/cpu/hadamard.h"
#include "kernels/require.h"

namespace banyan::kernels {

const float* SinkQueries::Turn(const Call& call) {
  rows_.clear();
  turns_.clear();
  std::int32_t end = 0;
  for (const RowRun& run : call.runs) {
    if (run.window.sinks == 0) continue;
    for (std::int32_t i = 0; i < run.rows; ++i) {
      const std::int64_t position = run.first_position + i;
      if (!run.window.cuts(position)) continue;
      rows_.push_back(run.first_row + i);
      turns_.push_back(run.window.capacity() - 1 - position);
      end = std::max(end, run.first_row + i + 1);
    }
  }
  if (rows_.empty()) return nullptr;
  Require(call.rope != nullptr, "attention knows the rope where windows have sinks");
  Require(call.rope->dims <= call.head_dim, "a rope turns no more than a head");

  const RopeTable::Angles& angles = table_.Prepare(*call.rope, turns_);
  const auto rotate =
      call.rope->pairs == RopePairs::kNeighbours ? ops_.rotate_neighbours : ops_.rotate_halves;
  GrowFloats(turned_, end * call.stride);
  float* turned = turned_.as<float>();
  const std::int64_t values = std::int64_t{call.heads} * call.head_dim;
  const auto turn = [&](std::int64_t begin, std::int64_t last) {
    for (std::int64_t i = begin; i < last; ++i) {
      const std::int64_t at = rows_[static_cast<std::size_t>(i)] * call.stride;
      std::copy_n(call.q + at, values, turned + at);
      for (float* head = turned + at; head < turned + at + values; head += call.head_dim) {
        if (call.spread) Hadamard(head, call.head_dim);  // back
        rotate(head, angles.cos(i), angles.sin(i), call.rope->dims);
        if (call.spread) Hadamard(head, call.head_dim);
      }
    }
  };
  const auto count = std::ssize(rows_);
  if (count * values < kParallelValues)
    turn(0, count);
  else
    pool_.For(count, turn);
  return turned;
}

}  // namespace banyan::kernels
