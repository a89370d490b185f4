// What pages of a format keep of numbers, by the formats' definitions in double precision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kv_shape.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {

// Those that keep a head's numbers as they come, without any others.
inline constexpr std::array kHeadFormats = {KvFormat::kF16, KvFormat::kBf16, KvFormat::kFp8,
                                            KvFormat::kInt8};

// The numbers of one head's key or value as a page has them.
Row Kept(KvFormat format, std::span<const float> head);

// A key that was written, as queries outside of the pages' basis (SpreadsKeys) meet it.
Row KeptKey(KvFormat format, std::span<const float> head);

// In the basis in which pages of the format keep keys.
Row InKeyBasis(KvFormat format, std::span<const float> head);

// A number as it lies in a page, without its scale.
float Decoded(KvFormat format, const std::byte* number);

// The value of an f16.
float HalfValue(std::uint16_t half);

}  // namespace banyan::kernels::testing
