// device.h for nvcc: the names of ours as the device has them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "kernels/cuda/fragments.h"
#include "kernels/cuda/numbers.h"
#include "kernels/cuda/runtime.h"

// Before a loop whose every turn is to be code of its own, as that indexes registers.
#define UNROLLED _Pragma("unroll")

namespace banyan::kernels::cuda {

template <class T>
using Shared = T*;

// The tag makes it an instantiation, and so memory, of its own.
template <class T, int kCount, class Tag>
__device__ __forceinline__ Shared<T> StaticShared() {
  __shared__ T memory[kCount];
  return memory;
}

template <class T>
__device__ __forceinline__ Shared<T> DynamicShared(int at) {
  extern __shared__ __align__(16) unsigned char dynamic_memory[];
  return reinterpret_cast<T*>(dynamic_memory + at);
}

template <class U, class T>
__device__ __forceinline__ Shared<U> As(Shared<T> shared) {
  return reinterpret_cast<U*>(shared);
}

__device__ __forceinline__ float ToFloat(float x) { return x; }
__device__ __forceinline__ float ToFloat(Half x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ __forceinline__ float ToFloat(Bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ __forceinline__ float ToFloat(Fp8 x) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3)));
}

template <class T>
__device__ __forceinline__ T Rounded(float x);
template <>
__device__ __forceinline__ float Rounded<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ Half Rounded<Half>(float x) {
  return {__half_as_ushort(__float2half_rn(x))};
}
template <>
__device__ __forceinline__ Bf16 Rounded<Bf16>(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}
template <>
__device__ __forceinline__ Fp8 Rounded<Fp8>(float x) {
  return {__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)};
}

template <class T>
__device__ __forceinline__ std::uint32_t RoundedPair(float low, float high);
template <>
__device__ __forceinline__ std::uint32_t RoundedPair<Half>(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <>
__device__ __forceinline__ std::uint32_t RoundedPair<Bf16>(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

template <class T>
__device__ __forceinline__ void CopyAsync16(Shared<T> to, const T* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kNewest>
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}

__device__ __forceinline__ void LoadMatrices(std::uint32_t (&pairs)[4], Shared<std::uint16_t> row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void LoadMatricesTransposed(std::uint32_t (&pairs)[4],
                                                       Shared<std::uint16_t> row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(address)
               : "memory");
}

template <class T>
__device__ __forceinline__ void MmaM16N8K16(FragmentC& c, const FragmentA& a, const FragmentB& b);
template <>
__device__ __forceinline__ void MmaM16N8K16<Half>(FragmentC& c, const FragmentA& a,
                                                  const FragmentB& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c.values[0]), "+f"(c.values[1]), "+f"(c.values[2]), "+f"(c.values[3])
      : "r"(a.pairs[0]), "r"(a.pairs[1]), "r"(a.pairs[2]), "r"(a.pairs[3]), "r"(b.pairs[0]),
        "r"(b.pairs[1]));
}
template <>
__device__ __forceinline__ void MmaM16N8K16<Bf16>(FragmentC& c, const FragmentA& a,
                                                  const FragmentB& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c.values[0]), "+f"(c.values[1]), "+f"(c.values[2]), "+f"(c.values[3])
      : "r"(a.pairs[0]), "r"(a.pairs[1]), "r"(a.pairs[2]), "r"(a.pairs[3]), "r"(b.pairs[0]),
        "r"(b.pairs[1]));
}

// A launch that fails is the stream's first error (runtime.h).
template <class... P, class... A>
void Launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
            A&&... arguments) {
  constexpr std::size_t kWithoutAsking = 48 * 1024;
  const auto* function = reinterpret_cast<const void*>(kernel);
  if (shared_bytes > kWithoutAsking)
    NoteError(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_bytes)));
  std::tuple<P...> values(std::forward<A>(arguments)...);
  std::apply(
      [&](auto&... value) {
        void* pointers[] = {&value..., nullptr};
        NoteError(cudaLaunchKernel(function, grid, block, pointers, shared_bytes, stream));
      },
      values);
}

}  // namespace banyan::kernels::cuda
