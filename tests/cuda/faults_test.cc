// What is wrong in a kernel is found, named, and ends its launch; the next one runs as if nothing
// had been.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/emulation/trial.h"

namespace banyan::kernels::cuda {
namespace {

using emulation::Defect;
using emulation::LaunchShape;
using emulation::Trial;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr unsigned kAll = 0xffffffffU;

template <class Matcher, class... P>
void ExpectFault(const Matcher& matcher, void (*kernel)(P...), unsigned block, P... arguments) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Trial trial({.seed = seed});
    Launch(kernel, 2, block, 64, nullptr, arguments...);
    EXPECT_THAT(trial.failures(), ElementsAre(matcher)) << "in the order of seed " << seed;
  }
}

template <class... P>
void ExpectNone(void (*kernel)(P...), unsigned block, P... arguments) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Trial trial({.seed = seed});
    Launch(kernel, 2, block, 64, nullptr, arguments...);
    EXPECT_THAT(trial.failures(), IsEmpty()) << "in the order of seed " << seed;
  }
}

void LeaveEarly() {
  if (threadIdx.x == 40) return;
  __syncthreads();
}

TEST(Faults, ABarrierThatAThreadNeverReaches) {
  ExpectFault(AllOf(HasSubstr("faults_test.cc:"), HasSubstr("thread 40 has ended")), LeaveEarly,
              64);
}

void WaitElsewhere() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST(Faults, ThreadsThatMeetAtDifferentBarriers) {
  ExpectFault(HasSubstr("different barriers: faults_test.cc:"), WaitElsewhere, 64);
}

void WaitForLanes() {
  if (threadIdx.x == 3) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

TEST(Faults, LanesThatWaitForOneThatWaitsElsewhere) {
  ExpectFault(AllOf(HasSubstr("for ever"), HasSubstr("waits at")), WaitForLanes, 32);
}

void ShuffleDiverged(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(kAll, 1, 1);
}

TEST(Faults, AMaskThatNamesLanesThatAreNotThere) {
  int out[32];
  ExpectFault(testing::AnyOf(HasSubstr("has ended"), HasSubstr("for ever")), ShuffleDiverged, 32,
              static_cast<int*>(out));
}

void ShuffleInPartOfAWarp() { __shfl_xor_sync(kAll, 1, 1); }

TEST(Faults, AMaskThatNamesLanesThatDoNotExist) {
  ExpectFault(HasSubstr("does not exist"), ShuffleInPartOfAWarp, 48);
}

void ForgetOwnLane() { __syncwarp(threadIdx.x < 16 ? 0x0000fffeU : 0xffff0000U); }

TEST(Faults, AMaskThatDoesNotNameTheLaneItself) {
  ExpectFault(HasSubstr("does not name the lane itself"), ForgetOwnLane, 32);
}

void DisagreeOnMasks() { __ballot_sync(threadIdx.x == 0 ? 0x3U : kAll, 1); }

TEST(Faults, LanesWithDifferentMasks) {
  ExpectFault(HasSubstr("different masks or operations"), DisagreeOnMasks, 32);
}

void ReadOutsideTheMask() {
  if (threadIdx.x < 16) __shfl_xor_sync(0x0000ffffU, 1, 16);
}

TEST(Faults, AShuffleFromALaneThatIsNotInItsMask) {
  ExpectFault(HasSubstr("which the mask does not name"), ReadOutsideTheMask, 32);
}

void PassToTheNextWarp(int* out) {
  Shared<int> memory = DynamicShared<int>(0);
  if (threadIdx.x == 0) memory[0] = 7;
  if (threadIdx.x == 32) out[blockIdx.x] = memory[0];
}

TEST(Faults, AReadThatNoBarrierPutsBehindTheWrite) {
  int out[2];
  ExpectFault(testing::AnyOf(HasSubstr("race: a write by thread 0 and a read by thread 32"),
                             HasSubstr("thread 32 reads what no thread wrote")),
              PassToTheNextWarp, 64, static_cast<int*>(out));
}

void OverwriteUnread() {
  Shared<int> memory = DynamicShared<int>(0);
  if (threadIdx.x == 0) memory[0] = 1;
  __syncthreads();
  const int seen = memory[0];
  if (threadIdx.x == 63) memory[0] = seen + 1;
}

TEST(Faults, AWriteThatNoBarrierPutsBehindOthersReads) {
  ExpectFault(HasSubstr("race: a"), OverwriteUnread, 64);
}

void PassWithinAWarp(bool synchronized) {
  Shared<int> memory = DynamicShared<int>(0);
  if (threadIdx.x == 0) memory[0] = 1;
  if (synchronized) __syncwarp();
  const int seen = threadIdx.x == 1 ? static_cast<int>(memory[0]) : 0;
  if (synchronized) __syncwarp();
  if (threadIdx.x == 2) memory[0] = seen;
}

TEST(Faults, LanesOrderTheirAccessesBySyncwarpAlone) {
  ExpectNone(PassWithinAWarp, 32, true);
  ExpectFault(testing::AnyOf(HasSubstr("race: a"), HasSubstr("no thread wrote")), PassWithinAWarp,
              32, false);
}

void ReadWhatAtomicsMake(int* out) {
  Shared<unsigned> memory = DynamicShared<unsigned>(0);
  if (threadIdx.x == 0) memory[0] = 0;
  __syncthreads();
  atomicAdd(memory, 1U);
  if (threadIdx.x == 5) out[blockIdx.x] = static_cast<int>(memory[0]);
}

TEST(Faults, APlainReadAmongAtomicOperations) {
  int out[2];
  ExpectFault(HasSubstr("race: a"), ReadWhatAtomicsMake, 64, static_cast<int*>(out));
}

void ReadUnwritten(int* out) {
  Shared<int> memory = DynamicShared<int>(0);
  out[threadIdx.x] = memory[threadIdx.x];
}

TEST(Faults, AReadOfWhatNobodyWrote) {
  int out[2];
  ExpectFault(HasSubstr("reads what no thread wrote"), ReadUnwritten, 2, static_cast<int*>(out));
}

void WriteBehindTheEnd() {
  Shared<int> memory = DynamicShared<int>(0);
  memory[16] = 1;
}

TEST(Faults, AnAccessOutsideOfSharedMemory) {
  ExpectFault(HasSubstr("outside of shared memory"), WriteBehindTheEnd, 1);
}

void LoadWhatOthersWrite(int* out, const int* /*in*/) {
  Shared<std::uint16_t> memory = DynamicShared<std::uint16_t>(0);
  for (int i = threadIdx.x; i < 32; i += 32) memory[i] = 1;
  std::uint32_t pairs[4];
  LoadMatrices(pairs, memory + threadIdx.x % 4 * 8);
  out[threadIdx.x] = static_cast<int>(pairs[0]);
}

TEST(Faults, MatricesOfWhatOtherLanesWroteWithoutABarrier) {
  int out[32];
  ExpectFault(HasSubstr("race"), LoadWhatOthersWrite, 32, static_cast<int*>(out),
              static_cast<const int*>(nullptr));
}

void UseBeforeArrival(int* out, const int* in) {
  Shared<int> memory = DynamicShared<int>(0);
  CopyAsync16(memory, in);
  CommitCopies();
  out[blockIdx.x] = memory[0];
}

TEST(Faults, ACopyThatIsReadBeforeItIsWaitedFor) {
  alignas(16) const int in[4] = {1, 2, 3, 4};
  int out[2];
  ExpectFault(HasSubstr("reads what no thread wrote"), UseBeforeArrival, 1, static_cast<int*>(out),
              static_cast<const int*>(in));
}

void Nothing() {}

TEST(Faults, ShapesThatNoDeviceTakes) {
  const auto refused = [](dim3 grid, dim3 block, std::size_t shared) {
    Trial trial({});
    Launch(Nothing, grid, block, shared, nullptr);
    return !trial.failures().empty();
  };
  EXPECT_FALSE(refused(1, LaunchShape::kMaxThreads, LaunchShape::kMaxShared));
  EXPECT_TRUE(refused(1, LaunchShape::kMaxThreads + 1, 0));
  EXPECT_TRUE(refused(1, 1, LaunchShape::kMaxShared + 1));
  EXPECT_TRUE(refused(0, 1, 0));
  EXPECT_TRUE(refused(1, 0, 0));
  EXPECT_TRUE(refused(dim3(1, LaunchShape::kMaxGridYZ + 1), 1, 0));
}

void SumOfBlock(int* out) {
  Shared<int> memory = DynamicShared<int>(0);
  if (threadIdx.x == 0) memory[0] = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) atomicAdd(memory, 1);
  __syncthreads();
  if (threadIdx.x == 33) out[blockIdx.x] = memory[0];
}

TEST(Faults, EachBarrierThatIsLeftOut) {
  int out[2];
  Trial whole({});
  Launch(SumOfBlock, 2, 64, 64, nullptr, static_cast<int*>(out));
  EXPECT_THAT(whole.failures(), IsEmpty());
  ASSERT_THAT(whole.defects(), SizeIs(2));
  for (const Defect& defect : whole.defects()) {
    EXPECT_EQ(defect.kind, Defect::Kind::kNoBarrier);
    Trial trial({.planted = defect});
    Launch(SumOfBlock, 2, 64, 64, nullptr, static_cast<int*>(out));
    EXPECT_THAT(trial.failures(), SizeIs(1)) << defect.where;
  }
}

void WorkAsAWarp(unsigned* out) {
  Shared<unsigned> memory = DynamicShared<unsigned>(0);
  if (threadIdx.x == 31) memory[0] = 5;
  __syncwarp();
  const unsigned seen = threadIdx.x == 0 ? static_cast<unsigned>(memory[0]) : 0;
  const unsigned most = __reduce_max_sync(kAll, threadIdx.x + 1);
  const unsigned other = __shfl_xor_sync(kAll, threadIdx.x, 4);
  out[threadIdx.x] = seen + 100 * most + 10000 * other;
}

// Lines in order: __syncwarp, __reduce_max_sync, __shfl_xor_sync.
std::vector<unsigned> RunAsAWarp(const std::optional<Defect>& planted, bool* failed) {
  std::vector<unsigned> out(32);
  Trial trial({.planted = planted});
  Launch(WorkAsAWarp, 1, 32, 64, nullptr, out.data());
  *failed = !trial.failures().empty();
  return out;
}

TEST(Faults, EachDefectThatMayBePlantedInAWarp) {
  using Kind = Defect::Kind;
  Trial whole({});
  std::vector<unsigned> right(32);
  Launch(WorkAsAWarp, 1, 32, 64, nullptr, right.data());
  std::vector<Kind> kinds;
  for (const Defect& defect : whole.defects()) kinds.push_back(defect.kind);
  EXPECT_THAT(
      kinds, ElementsAre(Kind::kNoWarpBarrier, Kind::kHalfMasks, Kind::kShortMask, Kind::kHalfMasks,
                         Kind::kShortMask, Kind::kOtherLane, Kind::kShortMask));
  for (const Defect& defect : whole.defects()) {
    bool failed = false;
    const std::vector<unsigned> out = RunAsAWarp(defect, &failed);
    EXPECT_TRUE(failed || out != right) << defect.where;
    // A maximum of half a warp, and another lane's number, are wrong and nothing else.
    const bool only_wrong = defect.kind == Kind::kOtherLane || defect == whole.defects()[3];
    EXPECT_EQ(failed, !only_wrong) << defect.where;
  }
}

TEST(Faults, AFaultLeavesNothingBehind) {
  {
    Trial trial({});
    Launch(LeaveEarly, 1, 64, 64, nullptr);
    EXPECT_THAT(trial.failures(), SizeIs(1));
  }
  int out[2];
  ExpectNone(SumOfBlock, 64, static_cast<int*>(out));
  EXPECT_EQ(out[1], 2);
}

TEST(FaultsDeathTest, WithoutATrialAFaultEndsTheProgram) {
  EXPECT_DEATH(Launch(LeaveEarly, 1, 64, 64, nullptr), "has ended");
}

}  // namespace
}  // namespace banyan::kernels::cuda
