// The AVX-512 variant of kernels/cpu/ops.h: F, BW, DQ, VL and VNNI. Matrix products and attention
// are its own; the rest is AVX2's.
// Declarations only: everything inline for this variant lives in its *_avx512 files, which alone
// are compiled for these instructions.
#pragma once

#include "kernels/cpu/ops.h"

namespace banyan::kernels::avx512 {

extern const Ops kOps;
bool Runs();  // on this machine, whose system saves the registers

void MatMulF32(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulF16(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulBF16(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ4_0(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ4_1(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ5_0(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ5_1(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ8_0(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ4_K(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ5_K(const MatMulWork& work, std::int64_t first, std::int64_t last);
void MatMulQ6_K(const MatMulWork& work, std::int64_t first, std::int64_t last);

void AttendF16(const AttendWork& work);
void AttendBf16(const AttendWork& work);
void AttendFp8(const AttendWork& work);
void AttendInt8(const AttendWork& work);
void AttendInt4(const AttendWork& work);

}  // namespace banyan::kernels::avx512
