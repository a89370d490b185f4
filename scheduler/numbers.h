// Small numbers that are lent: the last one that came back goes out first, else the least that was
// never out. So they stay as small as the most that are out at once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"

namespace banyan::scheduler {

class Numbers {
 public:
  std::int32_t Take() {
    if (back_.empty()) return known_++;
    const std::int32_t number = back_.back();
    back_.pop_back();
    return number;
  }
  // `number` is out.
  void GiveBack(std::int32_t number) {
    CHECK(0 <= number && number < known_ && out() > 0);
    back_.push_back(number);
  }
  std::int64_t out() const { return known_ - static_cast<std::int64_t>(back_.size()); }

 private:
  std::vector<std::int32_t> back_;
  std::int32_t known_ = 0;  // 0 .. known_ - 1 are all that were ever out
};

}  // namespace banyan::scheduler
