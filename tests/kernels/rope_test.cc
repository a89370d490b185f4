// Rotary embeddings: which elements turn together, by which angle, and the bits of it.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr int kHeadDim = 48;

// A backend with pages, on which rows are rotated.
class Turntable {
 public:
  explicit Turntable(int threads = 1) : rig_(threads), pages_(64) {
    EXPECT_TRUE(rig_.backend->AllocatePages({1, 2, kHeadDim, 16, 64}));
    std::iota(pages_.begin(), pages_.end(), 0);
  }

  // Queries of four heads at positions first .. of one run.
  Rows Turn(const Rows& q, const Rope& rope, std::int64_t first) {
    const int rows = static_cast<int>(q.size());
    CpuBackend::Activations q_rows = rig_.Load(q);
    CpuBackend::Activations k_rows = rig_.Load(KeysOf(q));
    const CpuBackend::Activations v_rows = rig_.Load(Rows(rows, Row(2 * kHeadDim, 0.1F)));
    // What lies further back than pages reach was dropped.
    const std::int64_t dropped = std::max<std::int64_t>(0, (first - 32) / 16);
    const KeyWindow window = dropped > 0 ? KeyWindow{.window = 1} : KeyWindow{};
    const RowRun run[] = {{0, rows, first, pages_, window, 0, dropped}};
    rig_.backend->RopeAndStore(q_rows, k_rows, v_rows, rope, run, 0);
    const Rows turned = rig_.Read(q_rows, rows);
    EXPECT_EQ(rig_.Read(k_rows, rows), KeysOf(turned)) << "keys turn as queries do";
    return turned;
  }

 private:
  static Rows KeysOf(Rows q) {
    for (Row& row : q) row.resize(2 * kHeadDim);
    return q;
  }

  Rig rig_;
  std::vector<std::int32_t> pages_;
};

Row Reference(const Row& x, const Rope& rope, double position) {
  Row out = x;
  for (std::size_t head = 0; head < x.size(); head += kHeadDim) {
    for (int pair = 0; pair < rope.dims / 2; ++pair) {
      const bool halves = rope.pairs == RopePairs::kHalves;
      const std::size_t a = head + (halves ? pair : 2 * pair);
      const std::size_t b = head + (halves ? pair + rope.dims / 2 : 2 * pair + 1);
      const double factor = rope.factors.empty() ? 1 : rope.factors[pair];
      const double angle = position * static_cast<double>(rope.scale) *
                           std::pow(static_cast<double>(rope.base), -2.0 * pair / rope.dims) /
                           factor;
      out[a] = static_cast<float>(x[a] * std::cos(angle) - x[b] * std::sin(angle));
      out[b] = static_cast<float>(x[a] * std::sin(angle) + x[b] * std::cos(angle));
    }
  }
  return out;
}

// (dims of 48, pairs)
class RopeTest : public ::testing::TestWithParam<std::tuple<int, RopePairs>> {
 protected:
  Rope rope() const { return {.dims = std::get<0>(GetParam()), .pairs = std::get<1>(GetParam())}; }
};
INSTANTIATE_TEST_SUITE_P(Shapes, RopeTest,
                         ::testing::Combine(::testing::Values(0, 2, 8, 10, 24, 32, 48),
                                            ::testing::Values(RopePairs::kNeighbours,
                                                              RopePairs::kHalves)));

TEST_P(RopeTest, TurnsItsPairsByThePosition) {
  Turntable table(2);
  const Rows q = RandomRows(3, 4 * kHeadDim, 1);
  std::vector<float> factors(rope().dims / 2);
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 1.0F + 0.3F * i;
  Rope variants[] = {rope(), rope(), rope(), rope()};
  variants[1].base = 500000.0F;
  variants[2].scale = 0.125F;
  variants[3].factors = factors;
  // Each twice and out of turn, so that angles of one never serve another.
  for (const int i : {0, 1, 0, 1, 2, 3, 0, 3, 2, 1}) {
    const std::int64_t first = i == 1 ? 0 : 41;
    const Rows turned = table.Turn(q, variants[i], first);
    for (int r = 0; r < 3; ++r)
      ASSERT_THAT(turned[r], ::testing::Pointwise(::testing::FloatNear(1e-6F),
                                                  Reference(q[r], variants[i], first + r)))
          << "variant " << i << ", row " << r;
  }
}

TEST_P(RopeTest, BitsDependOnThePositionAlone) {
  const Rows all = Turntable(3).Turn(Rows(500, Row(4 * kHeadDim, 0.7F)), rope(), 17);
  Turntable table;
  for (const int position : {17, 18, 99, 516})
    EXPECT_EQ(table.Turn({Row(4 * kHeadDim, 0.7F)}, rope(), position)[0], all[position - 17]);
}

TEST_P(RopeTest, PositionsHaveNoEnd) {
  Turntable table;
  const Rows q = RandomRows(2, 4 * kHeadDim, 3);
  for (const std::int64_t first : {1'000'000, 10'000'000}) {
    const Rows turned = table.Turn(q, rope(), first);
    for (int r = 0; r < 2; ++r)
      ASSERT_THAT(turned[r],
                  ::testing::Pointwise(::testing::FloatNear(1e-6F),
                                       Reference(q[r], rope(), static_cast<double>(first + r))));
  }
}

TEST(RopeFactors, AreReadAnewWhereTheyChangedInPlace) {
  Turntable table;
  std::vector<float> factors(kHeadDim / 2, 1.0F);
  const Rope rope{.dims = kHeadDim, .factors = factors};
  const Rows q = RandomRows(1, 4 * kHeadDim, 2);
  table.Turn(q, rope, 5);
  factors.assign(factors.size(), 2.0F);
  EXPECT_THAT(table.Turn(q, rope, 5)[0],
              ::testing::Pointwise(::testing::FloatNear(1e-6F), Reference(q[0], rope, 5)));
}

TEST(RopeDeathTest, FactorsAreOnePerPair) {
  Turntable table;
  const std::vector<float> factors(7, 1.0F);
  const Rope rope{.dims = 16, .factors = factors};
  EXPECT_DEATH(table.Turn({Row(4 * kHeadDim, 1.0F)}, rope, 0), "one factor per pair");
}

}  // namespace
}  // namespace banyan::kernels::testing
