// The KV page store as a backend is told of it, and how many bytes it takes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace banyan::kernels {

// How pages keep keys and values. A number is rounded once, when it is written, and attention reads
// what was written; nothing holds a second copy.
enum class KvFormat : std::uint8_t {
  kF16,   // IEEE 754 binary16
  kBf16,  // bfloat16: the range of a float in the bytes of f16
  kFp8,   // e4m3 of the OCP 8-bit floating point specification 1.0, saturating at 448
  kInt8,  // -127..127 times one scale (f16) per token, KV head, and key or value
  kInt4,  // 4 bits and scales, of pages that are sealed when they are full: cpu/int4_ops.h
};
inline constexpr std::array kKvFormats = {KvFormat::kF16, KvFormat::kBf16, KvFormat::kFp8,
                                          KvFormat::kInt8, KvFormat::kInt4};

struct KvLayout {
  std::string_view name;         // as `--kv-dtype` takes it: "f16", "int8"
  std::int32_t bytes = 0;        // of a number; 0: less than one
  std::int32_t scale_bytes = 0;  // of a token's key or value in one head; 0: there is no scale
};
const KvLayout& LayoutOf(KvFormat format);
std::optional<KvFormat> FindKvFormat(std::string_view name);

// Whether keys are kept, and met by queries, in the basis of a Hadamard matrix (cpu/hadamard.h).
// That leaves every score what it is, and spreads the few channels of keys that are far greater
// than the others over all of them, so that rounding costs less. Ashkboos et al., "QuaRot", 2024.
constexpr bool SpreadsKeys(KvFormat format) {
  return format == KvFormat::kFp8 || format == KvFormat::kInt8;
}

// Whether a page has its bytes only once it is full. Then whole pages alone can be shared, and the
// page that a sequence still writes is kept apart, in f16: its open page.
constexpr bool SealsPages(KvFormat format) { return format == KvFormat::kInt4; }
// What head_dim and page_size are multiples of; other shapes cannot be had in the format.
constexpr std::int32_t HeadDimUnit(KvFormat format) { return SealsPages(format) ? 32 : 8; }
constexpr std::int32_t PageSizeUnit(KvFormat format) { return SealsPages(format) ? 16 : 1; }

// One page holds, for each layer, keys then values, each kv_heads planes of page_size slots of
// head_dim numbers, in whatever order within a plane the backend reads best, and then the scales.
struct KvShape {
  static constexpr std::int32_t kMaxHeadDim = 1024;

  std::int32_t layers = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;   // a multiple of HeadDimUnit
  std::int32_t page_size = 0;  // tokens, a multiple of PageSizeUnit
  std::int32_t pages = 0;
  KvFormat format = KvFormat::kF16;
  std::int32_t open_pages = 0;  // beside the others; of formats whose pages are sealed

  std::int64_t values_per_token() const { return std::int64_t{2} * layers * kv_heads * head_dim; }
};

// Exactly what a token takes in a page, its scales included.
std::int64_t BytesPerToken(const KvShape& shape);
// What the open pages take in all; 0 where pages are not sealed.
std::int64_t OpenBytes(const KvShape& shape);

}  // namespace banyan::kernels
