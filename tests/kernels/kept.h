// What pages of a format keep of numbers, by the formats' definitions in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kv_shape.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {

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
