// Which slots of a head survive (kv_compaction.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kv_compaction.h"

namespace banyan::kernels {

// Memory for slots up to those of the last Reserve, so that Choose throws nothing.
class Survivors {
 public:
  void Reserve(std::int64_t slots);

  // The survivors among so many slots, in increasing order; `importance` has a number (no NaN) of
  // each. Valid until the next call.
  std::span<const std::int32_t> Choose(const KeepRule& rule, std::span<const float> importance);

  // Where a caller may put the importance of as many slots as were reserved.
  std::span<float> scratch() { return importance_; }

 private:
  void Pool(const KeepRule& rule, std::span<const float> importance);

  std::vector<float> importance_;
  std::vector<float> pooled_;
  std::vector<std::int32_t> slots_;
};

}  // namespace banyan::kernels
