// The Walsh-Hadamard transform of a head: the basis in which some formats keep keys (SpreadsKeys of
// kernels/kv_shape.h).
#pragma once

#include <cstdint>

namespace banyan::kernels {

// x[0 .. n), a multiple of 8, block by block times H / sqrt(b), H the Hadamard matrix of b rows, b
// the greatest power of 2 that n is a multiple of. The matrix is orthogonal and its own inverse:
// dot products stay what they are but for rounding, and twice is x again. What is not finite spoils
// its block. The bits are the same on every machine.
void Hadamard(float* x, std::int64_t n);

}  // namespace banyan::kernels
