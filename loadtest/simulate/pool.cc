#include "loadtest/simulate/pool.h"

#include <algorithm>

#include "base/limits.h"

namespace banyan::loadtest {

std::int32_t UnlimitedPool::pages() const {
  return static_cast<std::int32_t>(std::min<std::int64_t>(pages_, kMaxPages));
}

}  // namespace banyan::loadtest
