// What operators see of the cache.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "radix/page_state.h"

namespace banyan::radix {

// Told of what operators measure; called on the engine thread, must not call back.
class Observer {
 public:
  virtual ~Observer() = default;
  // A page left the tree by eviction: time since it entered, and since it was last matched.
  virtual void OnEvicted(Tick lifetime, Tick idle) = 0;
  // `pages` pages of one node were matched again, `gap` after their last use.
  virtual void OnReused(std::int32_t pages, Tick gap) = 0;
};

struct Stats {
  std::int64_t pages[kPageStates] = {};  // by PageState
  std::int64_t evictable = 0;            // tree pages that no lease or copy pins
  std::int64_t cached_tokens = 0;        // tokens whose KV the tree holds
  std::int64_t nodes = 0;
  std::int64_t namespaces = 0;
  std::int64_t evicted_pages = 0;       // since start
  std::int64_t deduplicated_pages = 0;  // since start: published, but the tree had them
  std::int64_t copied_pages = 0;        // since start: copy-on-write
};

}  // namespace banyan::radix
