// What a kernel is written in: CUDA C++, and the few names of ours that both compilers give a
// meaning. Only sources of kernels include it.
//
//   Shared<T>                  a view of shared memory: T* on a device
//   StaticShared<T, n, Tag>()  n of them, which belong to the block; one Tag per use in a kernel
//   DynamicShared<T>(at)       the launch's shared bytes from `at` on
//   As<U>(shared)              the same bytes as U, for vector accesses
//   ToFloat(x), Rounded<T>(f)  to and from Half, Bf16 and Fp8 (numbers.h), to nearest even
//   RoundedPair<T>(low, high)  two numbers of 16 bits in a register, the lower half `low`
//   CopyAsync16, CommitCopies, WaitForCopies<n>   cp.async and its groups
//   LoadMatrices(pairs, row), LoadMatricesTransposed   ldmatrix: a warp reads four 8x8 matrices of
//                              16 bits, lane i names where row i % 8 of matrix i / 8 begins,
//                              pairs[m] is of matrix m: row lane / 4, columns lane % 4 * 2 and the
//                              next; of the transposed the same of column and rows
//   MmaM16N8K16<T>             a warp's product of fragments
//   UNROLLED                   before a loop over registers
//   Launch(kernel, grid, block, shared bytes, stream, arguments...)
#pragma once

#if defined(__CUDACC__)
#include "kernels/cuda/nvcc/device.h"
#else
#include "kernels/cuda/emulation/device.h"
#endif
