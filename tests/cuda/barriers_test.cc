// Every kernel in random orders without a race; and with any one of its barriers left out it fails:
// what guards shared memory is needed, and is seen when it is missing.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/emulation/trial.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

using emulation::Trial;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

void ExpectBarriersNeeded(std::size_t count, const std::function<void()>& launch) {
  std::vector<std::string> barriers;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Trial whole({.seed = seed});
    launch();
    EXPECT_THAT(whole.failures(), IsEmpty()) << "in the order of seed " << seed;
    barriers = whole.barriers();
  }
  EXPECT_THAT(barriers, SizeIs(count));
  for (const std::string& barrier : barriers) {
    Trial trial({.without_barrier = barrier});
    launch();
    EXPECT_THAT(trial.failures(), Not(IsEmpty())) << "without the barrier of " << barrier;
  }
}

TEST(Barriers, OfNorms) {
  const DeviceArray<float> in(Flat(RandomRows(2, 300, 1)));
  const DeviceArray<float> weight(RandomRows(1, 300, 2)[0]);
  DeviceArray<float> out(in.size());
  ExpectBarriersNeeded(1, [&] {
    RmsNorm(nullptr, in.data(), nullptr, weight.data(), 1e-5F, 2, 300,
            {out.data(), NumberType::kF32});
  });
  Fill(out.data(), 0, out.size() * sizeof(float), nullptr);
  ExpectBarriersNeeded(
      1, [&] { RmsNormAdd(nullptr, in.data(), weight.data(), 1e-5F, 2, 300, out.data()); });
}

TEST(Barriers, OfArgmax) {
  const DeviceArray<float> in(Flat(RandomRows(2, 600, 3)));
  DeviceArray<std::int32_t> out(2);
  ExpectBarriersNeeded(1, [&] { Argmax(nullptr, in.data(), 2, 600, out.data()); });
}

TEST(Barriers, OfAttention) {
  for (const std::int32_t heads : {1, 3}) {
    const Heads h{heads, 1, 64, 16, KvFormat::kF16};
    const Sequences sequences(h, {AttentionItem::kChunkKeys + 20}, 4);
    const Rows q = RandomRows(1, heads * 64, 5);
    ExpectBarriersNeeded(4, [&] { sequences.Attend(q, {}); });
  }
}

TEST(Barriers, AreNotInWhatAWarpDoesAlone) {
  const DeviceArray<float> weight(RandomRows(1, 64, 6)[0]);
  DeviceArray<float> x(Flat(RandomRows(6, 64, 7)));
  ExpectBarriersNeeded(0, [&] { RmsNormHeads(nullptr, weight.data(), 1e-5F, 6, 64, x.data()); });
  for (const KvFormat format : kPageFormats) {
    const Heads h{1, 2, 8, 16, format};
    ExpectBarriersNeeded(0, [&] { const Sequences stored(h, {5}, 8); });
  }
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
