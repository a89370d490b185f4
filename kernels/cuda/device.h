// What a kernel is written in: CUDA C++, and the few names of ours that both compilers give a
// meaning. Only sources of kernels include it.
//
//   Shared<T>                  a view of shared memory: T* on a device
//   StaticShared<T, n, Tag>()  n of them, which belong to the block; one Tag per use in a kernel
//   DynamicShared<T>(at)       the launch's shared bytes from `at` on
//   As<U>(shared)              the same bytes as U, for vector accesses
//   ToFloat(x), Rounded<T>(f)  to and from Half, Bf16 and Fp8 (numbers.h), to nearest even
//   CopyAsync16, CommitCopies, WaitForCopies<n>   cp.async and its groups
//   MmaM16N8K16<T>             a warp's product of fragments
//   Launch(kernel, grid, block, shared bytes, stream, arguments...)
#pragma once

#if defined(__CUDACC__)
#include "kernels/cuda/nvcc/device.h"
#else
#include "kernels/cuda/emulation/device.h"
#endif
