// A prompt whose cached length is kept up to date while its request waits, so that a queue can be
// ordered by it without matching anything again. Included by way of radix/prefix_cache.h.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace banyan::radix {

class Tree;

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
  friend class Tree;

  void* const owner_;
  Tree* tree_ = nullptr;
  NamespaceId name_space_{};
  std::span<const TokenId> tokens_;
  std::int64_t cached_tokens_ = 0;
};

}  // namespace banyan::radix
