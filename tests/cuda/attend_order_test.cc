// Attention in any order of blocks and threads: the same bits, and no race.

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/emulation/trial.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

using ::testing::IsEmpty;

TEST(AttendOrder, BitsDoNotDependOnItAndNothingRaces) {
  const Heads h{4, 2, 64, 16, KvFormat::kInt8};
  const Sequences sequences(h, {300, 33}, 5);
  const Rows q = RandomRows(2 * 16, h.heads * h.head_dim, 1006);
  const Asked asked{.rows = 16, .rules = {.whole_blocks = 0}};
  const Row expected = sequences.Attend(q, asked);
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    emulation::Trial trial({.seed = seed});
    EXPECT_EQ(sequences.Attend(q, asked), expected);
    EXPECT_THAT(trial.failures(), IsEmpty());
  }
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
