// The bounds of the keys of pages (page_choice.h), by number of the page: computed when they are
// first asked for, forgotten when the page is written.
//
// Memory: none until a choice is made; then, of each page whose bounds were ever asked for, two
// bf16 per layer, KV head and dimension, which is a page's share of an f16 pool by its page size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/thread_pool.h"

namespace banyan::kernels {

class PageBounds {
 public:
  PageBounds(const Ops& ops, ThreadPool& pool) : ops_(ops), pool_(pool) {}

  // From now on the bounds of these pages are known in the layer, for every KV head. They are
  // whole; a page may be there more than once.
  void Read(const PageStore& pages, std::int32_t layer, std::span<const std::int32_t> wanted);

  // What was written: a page, or of it one layer.
  void Forget(std::int32_t page);
  void Forget(std::int32_t page, std::int32_t layer);

  // head_dim numbers, of what is known.
  const std::uint16_t* Least(std::int32_t page, std::int32_t layer, std::int32_t kv_head) const {
    return bounds_.as<std::uint16_t>() + At(page, layer, kv_head);
  }
  const std::uint16_t* Greatest(std::int32_t page, std::int32_t layer, std::int32_t kv_head) const {
    return Least(page, layer, kv_head) + shape_.head_dim;
  }

 private:
  std::int64_t At(std::int32_t page, std::int32_t layer, std::int32_t kv_head) const {
    return ((std::int64_t{layer} * shape_.kv_heads + kv_head) * shape_.pages + page) * 2 *
           shape_.head_dim;
  }
  // Of a page in a layer: a byte, so that pages are set beside each other.
  std::uint8_t& Known(std::int32_t page, std::int32_t layer) {
    return known_[static_cast<std::size_t>(std::int64_t{layer} * shape_.pages + page)];
  }

  const Ops& ops_;
  ThreadPool& pool_;
  KvShape shape_;
  Buffer bounds_;                     // bf16 [layers, kv_heads, pages, 2, head_dim]
  std::vector<std::uint8_t> known_;   // [layers, pages]; empty: no choice was ever made
  std::vector<std::int32_t> unread_;  // of the current call
};

}  // namespace banyan::kernels
