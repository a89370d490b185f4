// A prompt whose cached length is kept up to date while its request waits, so that a queue can be
// ordered by it without matching anything again. Included by way of radix/prefix_cache.h.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace banyan::radix {

class Audit;  // the invariant checker
class Tree;
class Watches;
struct WatchOrder;
struct WatchStation;

// Its address is what the tree knows it by: neither copied nor moved. Must end before the cache.
class Watch {
 public:
  explicit Watch(void* owner) : owner_(owner) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();  // as PrefixCache::StopWatch

  bool is_on() const { return tree_ != nullptr; }
  std::int64_t cached_tokens() const { return cached_tokens_; }  // 0 when off
  void* owner() const { return owner_; }

 private:
  friend class Audit;
  friend class Tree;
  friend class TreePeer;  // the checker's tests
  friend class Watches;
  friend struct WatchOrder;

  void* const owner_;
  Tree* tree_ = nullptr;
  NamespaceId name_space_{};
  std::span<const TokenId> tokens_;
  std::int64_t cached_tokens_ = 0;
  std::int64_t reported_ = 0;  // cached_tokens_ when it was started or last handed out
  std::uint64_t number_ = 0;   // counts what was started, from 1
  WatchStation* station_ = nullptr;
  // In the list of those that changed, which has it exactly while cached_tokens_ != reported_.
  Watch* previous_changed_ = nullptr;
  Watch* next_changed_ = nullptr;
};

}  // namespace banyan::radix
