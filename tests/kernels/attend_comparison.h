// Attention over one chunk of keys by a set of instructions, in all the ways in which it is asked
// for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/ops.h"
#include "tests/kernels/variant_comparison.h"

namespace banyan::kernels::testing {

// One chunk, of which queries see up to keys first .. last - 1.
struct Seen {
  int first;
  int last;
  bool same;  // all queries see all of them; or each some
};

// Queries, with room for their results.
class Queries {
 public:
  Queries(int head_dim, int count, const Seen& seen, Source& source)
      : rows_(source.Values(count * head_dim)),
        size_(static_cast<std::size_t>(kPartialHeader + head_dim)),
        results_(size_ * static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i) {
      AttendQuery query = {rows_.data() + i * head_dim, seen.first, seen.last, At(i)};
      query.result[0] = -std::numeric_limits<float>::infinity();
      if (!seen.same) {
        query.first = std::min(seen.first + i % 3 * i, seen.last - 1);
        query.last = std::max(seen.last - i / 2, query.first + 1);
      }
      queries_.push_back(query);
    }
  }

  // Of no padding.
  Row Results() const {
    Row out;
    for (const AttendQuery& query : queries_) {
      out.insert(out.end(), {query.result[0], query.result[1]});
      out.insert(out.end(), query.result + kPartialHeader, query.result + size_);
    }
    return out;
  }
  float* At(int i) { return results_.data() + static_cast<std::size_t>(i) * size_; }
  const AttendQuery* data() const { return queries_.data(); }
  int count() const { return static_cast<int>(queries_.size()); }

 private:
  Row rows_;
  std::size_t size_;
  Row results_;
  std::vector<AttendQuery> queries_;
};

// The partials of `count` queries, and states into which they are merged twice: by Merge, and as
// they are made. tiles(is_seen) are those of the chunk; is_seen(j): some query sees key j.
template <class Tiles>
Row Attended(const Ops& ops, void (*attend)(const AttendWork& work), const Tiles& tiles,
             const Seen& seen, int head_dim, int count, Source& source) {
  const std::uint32_t seed = source.Bits();
  const auto queries = [&] {
    Source same(source.numbers(), seed);
    return Queries(head_dim, count, seen, same);
  };
  Queries partials = queries();
  const ChunkTiles chunk = tiles([&](int j) {
    return std::any_of(partials.data(), partials.data() + count,
                       [&](const AttendQuery& q) { return q.first <= j && j < q.last; });
  });
  AttendWork work = {.chunk = &chunk,
                     .head_dim = head_dim,
                     .scale = 0.125F,
                     .queries = partials.data(),
                     .count = count,
                     .into = AttendInto::kPartials};
  attend(work);

  Queries merged = queries();
  Queries states = queries();
  work.queries = states.data();
  work.into = AttendInto::kStates;
  Row out = partials.Results();
  for (int time = 0; time < 2; ++time) {
    for (int i = 0; i < count; ++i) ops.merge(partials.At(i), head_dim, merged.At(i));
    attend(work);
  }
  EXPECT_EQ(Difference(states.Results(), merged.Results()), "");
  for (const float value : merged.Results()) out.push_back(value);
  Row finished(static_cast<std::size_t>(head_dim));
  for (int i = 0; i < count; ++i) {
    ops.finish(merged.At(i), head_dim, finished.data());
    out.insert(out.end(), finished.begin(), finished.end());
  }
  return out;
}

}  // namespace banyan::kernels::testing
