#include "kernels/cpu/rope_table.h"

#include <cmath>

#include "kernels/require.h"

namespace banyan::kernels {

void RopeTable::Prepare(const Rope& rope, std::span<const RowRun> runs) {
  Require(rope.dims >= 0 && rope.dims % 2 == 0, "rope turns whole pairs");
  wanted_.clear();
  for (const RowRun& run : runs)
    for (std::int32_t i = 0; i < run.rows; ++i) wanted_.push_back(run.first_position + i);

  const bool same_rope = rope.dims == rope_.dims && rope.base == rope_.base && width_ != 0;
  if (same_rope && wanted_ == positions_) return;
  if (!same_rope) {
    rope_ = rope;
    width_ = (rope.dims + 7) / 8 * 8;
    frequencies_.clear();
    for (std::int32_t pair = 0; pair < rope.dims / 2; ++pair)
      frequencies_.push_back(std::pow(static_cast<double>(rope.base), -2.0 * pair / rope.dims));
  }

  positions_.swap(wanted_);
  const std::size_t width = static_cast<std::size_t>(width_);
  cos_.assign(positions_.size() * width, 1.0F);
  sin_.assign(positions_.size() * width, 0.0F);
  for (std::size_t row = 0; row < positions_.size(); ++row) {
    for (std::size_t pair = 0; pair < frequencies_.size(); ++pair) {
      const double angle = static_cast<double>(positions_[row]) * frequencies_[pair];
      const std::size_t at = row * width + 2 * pair;
      cos_[at] = cos_[at + 1] = static_cast<float>(std::cos(angle));
      sin_[at + 1] = static_cast<float>(std::sin(angle));
      sin_[at] = -sin_[at + 1];
    }
  }
}

}  // namespace banyan::kernels
