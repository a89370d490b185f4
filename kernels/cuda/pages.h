// Where the device's KV pages keep what.
//
// One page: for each layer, keys then values, each of kv_heads planes of [page_size, head_dim], and
// where the format has scales (f16) those of [kv_heads][keys, values][page_size]; then zeros up to
// a multiple of 16 bytes. So a warp reads neighbouring slots of a head as one run of memory, in
// vectors of eight numbers, and a page is one run for copies to the host and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/kv_shape.h"

namespace banyan::kernels::cuda {

// The formats in which a page keeps each token by itself: all but int4, which seals full pages.
inline constexpr std::array kPageFormats = {KvFormat::kF16, KvFormat::kBf16, KvFormat::kFp8,
                                            KvFormat::kInt8};

inline constexpr std::int32_t kVector = 8;  // numbers of a slot that are read at once

struct PageView {
  static constexpr std::int64_t kAlignment = 16;

  std::byte* memory = nullptr;
  std::int64_t page_bytes = 0;
  std::int64_t layer_bytes = 0;
  std::int64_t plane_bytes = 0;  // of one head's keys, or values
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t page_size = 0;
  std::int32_t slot_bytes = 0;   // of a head's key, or value: a multiple of 8
  std::int32_t scale_bytes = 0;  // of its scale; 0: there is none
  std::int32_t layers = 0;
  KvFormat format = KvFormat::kF16;

  // From `memory` on, in bytes. The value lies values_after() behind the key.
  constexpr std::int64_t KeyAt(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                               std::int32_t slot) const {
    return page * page_bytes + layer * layer_bytes + kv_head * plane_bytes +
           std::int64_t{slot} * slot_bytes;
  }
  constexpr std::int64_t values_after() const { return kv_heads * plane_bytes; }
  // Of the key; that of the value is page_size scales on.
  constexpr std::int64_t ScaleAt(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                                 std::int32_t slot) const {
    return page * page_bytes + layer * layer_bytes + 2 * kv_heads * plane_bytes +
           (std::int64_t{2} * kv_head * page_size + slot) * 2;
  }
};

// `memory` is shape.pages pages, aligned to PageView::kAlignment. The format is of kPageFormats.
PageView ViewPages(const KvShape& shape, std::byte* memory);

// Pages that are sealed when they are full have the bytes of kernels/cpu/sealed_pages.h: a plane is
// all of a head, tile by tile, and a slot has no bytes of its own. The format is int4.
PageView ViewSealedPages(const KvShape& shape, std::byte* memory);

// Where a tile of sixteen tokens keeps what (kernels/cpu/int4_ops.h), from its head's plane on.
struct SealedTile {
  static constexpr std::int32_t kTokens = 16;
  static constexpr std::int32_t kValueDims = 32;  // that share a scale

  std::int32_t key_codes;     // [head_dim / 2][kTokens] bytes
  std::int32_t value_codes;   // [kTokens][head_dim / 2]
  std::int32_t key_scales;    // [head_dim] of f16
  std::int32_t value_scales;  // [head_dim / kValueDims][kTokens] of f16
  std::int32_t key_zeros;     // [head_dim]

  static constexpr SealedTile At(const PageView& pages, std::int32_t tile) {
    const std::int32_t tiles = pages.page_size / kTokens;
    const std::int32_t codes = kTokens * pages.head_dim / 2;
    const std::int32_t key_scales = 2 * tiles * codes;
    const std::int32_t value_scales = key_scales + tiles * pages.head_dim * 2;
    const std::int32_t value_scale_bytes = pages.head_dim / kValueDims * kTokens * 2;
    const std::int32_t zeros = value_scales + tiles * value_scale_bytes;
    return {tile * codes, (tiles + tile) * codes, key_scales + tile * pages.head_dim * 2,
            value_scales + tile * value_scale_bytes, zeros + tile * pages.head_dim};
  }
};

// Beside sealed pages: those that sequences still write, and what a step writes before its runs'
// last pages, both in f16 (kernels/cpu/sealed_kv.h). Number n >= 0 is an open page, ~n a staged
// one.
struct OpenView {
  PageView open;    // all layers
  PageView staged;  // one layer

  // What a page holds of a layer; KeyAt and values_after of either view count from there.
  constexpr std::byte* LayerOf(std::int32_t number, std::int32_t layer) const {
    return number >= 0 ? open.memory + open.KeyAt(number, layer, 0, 0)
                       : staged.memory + staged.KeyAt(~number, 0, 0, 0);
  }
};

struct KvPages {
  PageView pages;
  OpenView open{};  // where they are sealed
};

}  // namespace banyan::kernels::cuda
