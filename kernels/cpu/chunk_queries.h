// Queries to one chunk of keys, given to a set of instructions as many at a time as it takes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/ops.h"

namespace banyan::kernels {

// Keys first .. last - 1 of a chunk, none where both are equal.
struct ChunkKeys {
  int first = 0;
  int last = 0;
  bool empty() const { return first == last; }

  // Of keys first .. end - 1 of all those in the chunk that has `before` keys before it.
  static ChunkKeys Of(std::int64_t first, std::int64_t end, std::int64_t before) {
    const auto in_chunk = [&](std::int64_t key) {
      return static_cast<int>(std::clamp<std::int64_t>(key - before, 0, kChunkKeys));
    };
    if (in_chunk(first) >= in_chunk(end)) return {};
    return {in_chunk(first), in_chunk(end)};
  }
};

class ChunkQueries {
 public:
  using Attend = void (*)(const AttendWork& work);

  // `work` is all but the queries; its `next` is fetched once.
  ChunkQueries(Attend attend, const AttendWork& work) : attend_(attend), work_(work) {
    work_.queries = queries_.data();
    work_.count = 0;
  }

  void Add(const AttendQuery& query) {
    queries_[static_cast<std::size_t>(work_.count++)] = query;
    if (work_.count == kTogether) Flush();
  }
  void Flush() {
    if (work_.count == 0) return;
    attend_(work_);
    work_.count = 0;
    work_.next = nullptr;
  }

 private:
  static constexpr int kTogether = 48;  // a multiple of what register tiles have

  Attend attend_;
  AttendWork work_;
  std::array<AttendQuery, kTogether> queries_;
};

}  // namespace banyan::kernels
