#include "kernels/cpu/rope_table.h"

#include <algorithm>
#include <cmath>

#include "kernels/require.h"

namespace banyan::kernels {

const RopeTable::Angles& RopeTable::Prepare(const Rope& rope, std::span<const RowRun> runs) {
  wanted_.clear();
  for (const RowRun& run : runs)
    for (std::int32_t i = 0; i < run.rows; ++i) wanted_.push_back(run.first_position + i);
  return Prepare(rope, wanted_);
}

const RopeTable::Angles& RopeTable::Prepare(const Rope& rope,
                                            const std::vector<std::int64_t>& positions) {
  Require(rope.dims >= 0 && rope.dims % 2 == 0, "rope turns whole pairs");
  Require(rope.factors.empty() || std::ssize(rope.factors) == rope.dims / 2,
          "rope has one factor per pair, or none");
  if (!kept_[newest_].IsOf(rope)) {
    newest_ = 1 - newest_;
    if (!kept_[newest_].IsOf(rope)) kept_[newest_].SetRope(rope);
  }
  Angles& angles = kept_[newest_];
  if (positions != angles.positions_) angles.SetPositions(positions);
  return angles;
}

bool RopeTable::Angles::IsOf(const Rope& rope) const {
  return rope.dims == rope_.dims && rope.base == rope_.base && rope.scale == rope_.scale &&
         rope.pairs == rope_.pairs && std::ranges::equal(rope.factors, factors_);
}

// A failed allocation leaves angles that are of no rope's rows.
void RopeTable::Angles::SetRope(const Rope& rope) {
  positions_.clear();
  frequencies_.reserve(static_cast<std::size_t>(rope.dims / 2));
  factors_.reserve(rope.factors.size());
  rope_ = rope;
  factors_.assign(rope.factors.begin(), rope.factors.end());
  rope_.factors = factors_;
  const std::int32_t values = rope.pairs == RopePairs::kNeighbours ? rope.dims : rope.dims / 2;
  width_ = (values + 7) / 8 * 8;
  frequencies_.clear();
  for (std::int32_t pair = 0; pair < rope.dims / 2; ++pair) {
    const double factor = factors_.empty() ? 1.0 : factors_[static_cast<std::size_t>(pair)];
    frequencies_.push_back(rope.scale / factor *
                           std::pow(static_cast<double>(rope.base), -2.0 * pair / rope.dims));
  }
}

void RopeTable::Angles::SetPositions(const std::vector<std::int64_t>& positions) {
  positions_.clear();
  const auto width = static_cast<std::size_t>(width_);
  cos_.assign(positions.size() * width, 1.0F);
  sin_.assign(positions.size() * width, 0.0F);
  for (std::size_t row = 0; row < positions.size(); ++row) {
    for (std::size_t pair = 0; pair < frequencies_.size(); ++pair) {
      const double angle = static_cast<double>(positions[row]) * frequencies_[pair];
      const auto cosine = static_cast<float>(std::cos(angle));
      const auto sine = static_cast<float>(std::sin(angle));
      if (rope_.pairs == RopePairs::kHalves) {
        cos_[row * width + pair] = cosine;
        sin_[row * width + pair] = sine;
        continue;
      }
      const std::size_t at = row * width + 2 * pair;
      cos_[at] = cos_[at + 1] = cosine;
      sin_[at] = -sine;
      sin_[at + 1] = sine;
    }
  }
  positions_ = positions;
}

}  // namespace banyan::kernels
