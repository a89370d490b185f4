// The emulation gives CUDA's words their meaning: indices, barriers, what lanes do together, shared
// memory, atomic operations, late copies, products of fragments.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/emulation/trial.h"

namespace banyan::kernels::cuda {
namespace {

using emulation::Trial;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr unsigned kAll = 0xffffffffU;

// Runs `kernel` by index and in several random orders; every order gives the same.
template <class T, class... P>
std::vector<T> RunInAnyOrder(std::size_t count, void (*kernel)(T*, P...), dim3 grid, dim3 block,
                             std::size_t shared, P... arguments) {
  std::vector<T> first;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Trial trial({.seed = seed});
    std::vector<T> out(count);
    Launch(kernel, grid, block, shared, nullptr, out.data(), arguments...);
    EXPECT_THAT(trial.failures(), IsEmpty());
    if (seed == 0) first = out;
    EXPECT_EQ(out, first) << "in the order of seed " << seed;
  }
  return first;
}

void NameThreads(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      1000 * (blockIdx.x + 2 * blockIdx.y + 6 * blockIdx.z) +
      (threadIdx.x + 5 * threadIdx.y + 15 * threadIdx.z);
}

TEST(Primitives, EveryThreadOfEveryBlockRunsOnceWithItsIndices) {
  const auto out = RunInAnyOrder(24 * 30, NameThreads, dim3(2, 3, 4), dim3(5, 3, 2), 0);
  for (unsigned i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 1000 * (i / 30) + i % 30);
}

void Reverse(int* out) {
  Shared<int> values = StaticShared<int, 100, struct Reversed>();
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[99 - threadIdx.x];
}

TEST(Primitives, ABarrierShowsWhatOthersWrote) {
  const std::vector<int> out = RunInAnyOrder(100, Reverse, 1, 100, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(out[i], 99 - i);
}

void SayTogether(int* out) {
  const int some = __syncthreads_or(threadIdx.x == 77 ? 1 : 0);
  const int none = __syncthreads_or(0);
  out[threadIdx.x] = some + 2 * none;
}

TEST(Primitives, ABarrierTellsWhetherAnyThreadSaidSo) {
  EXPECT_THAT(RunInAnyOrder(100, SayTogether, 1, 100, 0), Each(1));
}

void Shuffle(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int* row = out + threadIdx.x * 6;
  row[0] = __shfl_sync(kAll, lane, 5);
  row[1] = __shfl_sync(kAll, lane, 3, 8);
  row[2] = __shfl_xor_sync(kAll, lane, 16);
  row[3] = __shfl_up_sync(kAll, lane, 2);
  row[4] = __shfl_down_sync(kAll, lane, 2);
  row[5] = __shfl_down_sync(kAll, lane, 1, 4);
}

TEST(Primitives, ShufflesReadTheLaneThatTheyName) {
  const std::vector<int> out = RunInAnyOrder(64 * 6, Shuffle, 1, 64, 0);
  for (int thread = 0; thread < 64; ++thread) {
    const int lane = thread % 32;
    const int* row = out.data() + thread * 6;
    EXPECT_EQ(row[0], 5);
    EXPECT_EQ(row[1], lane / 8 * 8 + 3);
    EXPECT_EQ(row[2], lane ^ 16);
    EXPECT_EQ(row[3], lane < 2 ? lane : lane - 2);
    EXPECT_EQ(row[4], lane > 29 ? lane : lane + 2);
    EXPECT_EQ(row[5], lane % 4 == 3 ? lane : lane + 1);
  }
}

// Each half of a warp by itself.
void Vote(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned mask = lane < 16 ? 0x0000ffffU : 0xffff0000U;
  unsigned* row = out + threadIdx.x * 6;
  row[0] = __ballot_sync(mask, lane % 3 == 0);
  row[1] = static_cast<unsigned>(__any_sync(mask, lane == 20));
  row[2] = static_cast<unsigned>(__all_sync(mask, lane >= 16));
  row[3] = __reduce_max_sync(mask, lane * 7 % 32);
  row[4] = __reduce_min_sync(mask, lane + 2);
  row[5] = __reduce_add_sync(mask, lane);
}

TEST(Primitives, VotesAndReductionsKeepToTheirMask) {
  const std::vector<unsigned> out = RunInAnyOrder(32 * 6, Vote, 1, 32, 0);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const bool low = lane < 16;
    const auto row = std::vector<unsigned>(out.begin() + lane * 6, out.begin() + lane * 6 + 6);
    EXPECT_THAT(row, ElementsAre(low ? 0x00009249U : 0x49240000U, low ? 0U : 1U, low ? 0U : 1U,
                                 low ? 31U : 30U, low ? 2U : 18U, low ? 120U : 376U));
  }
}

void CountShared(unsigned* out) {
  Shared<unsigned> counts = StaticShared<unsigned, 3, struct Counts>();
  if (threadIdx.x < 3) counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(counts + 0, 1U);
  atomicMax(counts + 1, threadIdx.x * 37 % 64);
  atomicCAS(counts + 2, 0U, 9U);
  atomicAdd(out, 1U);
  __syncthreads();
  if (threadIdx.x < 3) atomicAdd(out + 1 + threadIdx.x, counts[threadIdx.x]);
}

TEST(Primitives, AtomicOperationsOfOneAddressDoNotRace) {
  EXPECT_THAT(RunInAnyOrder(4, CountShared, 2, 64, 0), ElementsAre(128U, 128U, 126U, 18U));
}

void MoveVectors(float* out, const float* in) {
  Shared<float> memory = DynamicShared<float>(32);
  As<float4>(memory)[threadIdx.x] = make_float4(in[4 * threadIdx.x], in[4 * threadIdx.x + 1],
                                                in[4 * threadIdx.x + 2], in[4 * threadIdx.x + 3]);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 32; i += 8) out[i] = memory[31 - i];
}

TEST(Primitives, VectorsAndNumbersAreTheSameBytes) {
  std::vector<float> in(32);
  std::iota(in.begin(), in.end(), 1.0F);
  const std::vector<float> out =
      RunInAnyOrder(32, MoveVectors, 1, 8, 32 + 128, static_cast<const float*>(in.data()));
  EXPECT_EQ(out, std::vector<float>(in.rbegin(), in.rend()));
}

// Waits for the older of two groups, looks, then for both.
void CopyLate(int* out, const int* in) {
  Shared<int> memory = DynamicShared<int>(0);
  CopyAsync16(memory, in);
  CommitCopies();
  CopyAsync16(memory + 4, in + 4);
  CommitCopies();
  memory[4] = -1;
  WaitForCopies<1>();
  out[0] = memory[3];
  out[1] = memory[4];
  WaitForCopies<0>();
  out[2] = memory[4];
}

TEST(Primitives, CopiesArriveWhenTheyAreWaitedFor) {
  alignas(16) const int in[] = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(RunInAnyOrder(3, CopyLate, 1, 1, 32, static_cast<const int*>(in)),
              ElementsAre(4, -1, 5));
}

// out[16 x 8] = a[16 x 16] b[16 x 8] + 1, whose operands are found by the tables of the PTX ISA
// written out: groupID = lane / 4, threadID_in_group = lane % 4.
template <class T>
void Multiply(float* out, const float* a, const float* b) {
  const int group = static_cast<int>(threadIdx.x) >> 2;
  const int member = static_cast<int>(threadIdx.x) % 4;
  const auto pair = [](float low, float high) {
    return static_cast<std::uint32_t>(Rounded<T>(low).bits) |
           static_cast<std::uint32_t>(Rounded<T>(high).bits) << 16;
  };
  FragmentA fa;
  for (int i = 0; i < 8; i += 2) {
    const int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
    const int column = member * 2 + (i < 4 ? 0 : 8);
    fa.pairs[i / 2] = pair(a[row * 16 + column], a[row * 16 + column + 1]);
  }
  FragmentB fb;
  for (int i = 0; i < 4; i += 2) {
    const int row = member * 2 + (i < 2 ? 0 : 8);
    fb.pairs[i / 2] = pair(b[row * 8 + group], b[(row + 1) * 8 + group]);
  }
  FragmentC fc{{1.0F, 1.0F, 1.0F, 1.0F}};
  MmaM16N8K16<T>(fc, fa, fb);
  for (int i = 0; i < 4; ++i)
    out[(i < 2 ? group : group + 8) * 8 + member * 2 + i % 2] = fc.values[i];
}

template <class T>
void ExpectProduct() {
  std::vector<float> a(256);
  std::vector<float> b(128);
  for (int i = 0; i < 256; ++i) a[i] = static_cast<float>(i * 37 % 17 - 8);
  for (int i = 0; i < 128; ++i) b[i] = static_cast<float>(i * 29 % 13 - 6) * 0.5F;
  const std::vector<float> out =
      RunInAnyOrder(128, Multiply<T>, 1, 32, 0, static_cast<const float*>(a.data()),
                    static_cast<const float*>(b.data()));
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float sum = 1.0F;  // exact: small halves
      for (int k = 0; k < 16; ++k) sum += a[row * 16 + k] * b[k * 8 + column];
      EXPECT_EQ(out[row * 8 + column], sum) << row << ", " << column;
    }
  }
}

TEST(Primitives, FragmentsMultiplyAsTheirLayoutSays) {
  ExpectProduct<Half>();
  ExpectProduct<Bf16>();
}

// Sixteen rows of sixteen numbers, each 24 from the last, as four matrices: by rows, then columns.
void LoadFour(std::uint32_t* out) {
  Shared<std::uint16_t> memory = DynamicShared<std::uint16_t>(0);
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32)
    memory[i / 16 * 24 + i % 16] = static_cast<std::uint16_t>(i);
  __syncwarp();
  const Shared<std::uint16_t> row = memory + (lane % 16 * 24 + lane / 16 * 8);
  std::uint32_t pairs[4];
  LoadMatrices(pairs, row);
  for (unsigned m = 0; m < 4; ++m) out[lane * 8 + m] = pairs[m];
  LoadMatricesTransposed(pairs, row);
  for (unsigned m = 0; m < 4; ++m) out[lane * 8 + 4 + m] = pairs[m];
}

// As the PTX ISA has "Matrix fragments for ldmatrix": these four are an A operand, whose places
// are those of products.
TEST(Primitives, MatricesAreLoadedAsOperands) {
  const auto out = RunInAnyOrder(256, LoadFour, 1, 32, 16 * 24 * 2);
  for (int lane = 0; lane < 32; ++lane) {
    for (int pair = 0; pair < 4; ++pair) {
      const int row = lane / 4 + pair % 2 * 8;
      const int column = lane % 4 * 2 + pair / 2 * 8;
      const unsigned low = static_cast<unsigned>(row * 16 + column);
      EXPECT_EQ(out[lane * 8 + pair], low | (low + 1) << 16);
      const int first = lane % 4 * 2 + pair % 2 * 8;  // row, and the next one
      const unsigned upper = static_cast<unsigned>(first * 16 + lane / 4 + pair / 2 * 8);
      EXPECT_EQ(out[lane * 8 + 4 + pair], upper | (upper + 16) << 16);
    }
  }
}

template <class T>
void RoundPairs(std::uint32_t* out) {
  out[0] = RoundedPair<T>(1.0F, -2.0F);
}

TEST(Primitives, APairHasItsFirstNumberInTheLowerHalf) {
  EXPECT_THAT(RunInAnyOrder(1, RoundPairs<Half>, 1, 1, 0), ElementsAre(0xc0003c00U));
  EXPECT_THAT(RunInAnyOrder(1, RoundPairs<Bf16>, 1, 1, 0), ElementsAre(0xc0003f80U));
}

template <class T>
void RoundTrip(float* out, const float* in) {
  out[threadIdx.x] = ToFloat(Rounded<T>(in[threadIdx.x]));
}

TEST(Primitives, NumbersAreRoundedToNearestEven) {
  const std::vector<float> in = {1.0F, 1.0F + 0x1p-11F, 1.0F + 0x3p-11F, 448.0F, 1e6F, -0.0F};
  const auto* data = static_cast<const float*>(in.data());
  EXPECT_THAT(RunInAnyOrder(6, RoundTrip<Half>, 1, 6, 0, data),
              ElementsAre(1.0F, 1.0F, 1.0F + 0x1p-9F, 448.0F, INFINITY, -0.0F));
  EXPECT_THAT(RunInAnyOrder(6, RoundTrip<Fp8>, 1, 6, 0, data),
              ElementsAre(1.0F, 1.0F, 1.0F, 448.0F, 448.0F, -0.0F));
  EXPECT_THAT(RunInAnyOrder(6, RoundTrip<Bf16>, 1, 6, 0, data),
              ElementsAre(1.0F, 1.0F, 1.0F, 448.0F, 999424.0F, -0.0F));
}

}  // namespace
}  // namespace banyan::kernels::cuda
