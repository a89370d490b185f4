// The variant of kernels/cpu/ops.h in plain C++, for machines that no other variant runs on. Its
// files say in the fewest words what every variant computes, to the bit (a NaN's bits aside: it is
// a NaN, and which one is nobody's promise).
#pragma once

#include "kernels/cpu/ops.h"

namespace banyan::kernels::portable {

extern const Ops kOps;
bool Runs();  // on every machine

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

void Quantize(const float* x, std::int64_t cols, const RowOut& out);
void RmsNorm(const float* x, const float* weight, float eps, std::int64_t cols, const RowOut& out);
void RmsNormAdd(const float* in, const float* weight, float eps, std::int64_t cols, float* x);
void Add(const float* v, std::int64_t cols, float* x);
void GateSilu(const float* gate, const float* up, std::int64_t cols, const RowOut& out);
void GateGeluTanh(const float* gate, const float* up, std::int64_t cols, const RowOut& out);
void RotateNeighbours(float* x, const float* cos, const float* sin, std::int64_t dims);
void RotateHalves(float* x, const float* cos, const float* sin, std::int64_t dims);
void StoreF16(const float* x, std::int64_t n, std::byte* out, std::uint16_t* scale);
void StoreBf16(const float* x, std::int64_t n, std::byte* out, std::uint16_t* scale);
void StoreFp8(const float* x, std::int64_t n, std::byte* out, std::uint16_t* scale);
void StoreInt8(const float* x, std::int64_t n, std::byte* out, std::uint16_t* scale);
void WidenF16(const std::byte* numbers, std::int64_t n, float* out);
void WidenBf16(const std::byte* numbers, std::int64_t n, float* out);
void WidenFp8(const std::byte* numbers, std::int64_t n, float* out);
void WidenInt8(const std::byte* numbers, std::int64_t n, float* out);
void SealKeys(const std::uint16_t* keys, int head_dim, const SealedKeys& out);
void SealValues(const std::uint16_t* values, int head_dim, const SealedValues& out);

void AttendF16(const AttendWork& work);
void AttendBf16(const AttendWork& work);
void AttendFp8(const AttendWork& work);
void AttendInt8(const AttendWork& work);
void AttendInt4(const AttendWork& work);
void Merge(const float* partial, int head_dim, float* state);
void Finish(const float* state, int head_dim, float* out);
float ScoreBounds(const BoundQueries& queries, const std::uint16_t* least,
                  const std::uint16_t* greatest);
void ScoreTile(const float* q, int head_dim, const float* tile, const float* factors,
               float* scores);
void AddProbabilities(float* scores, std::int64_t slots, float* probabilities);

}  // namespace banyan::kernels::portable
