#include "kernels/cuda/angle_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cuda/kernels.h"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

// Within a step, whose factors are where they were.
bool IsSame(const Rope& a, const Rope& b) {
  return a.dims == b.dims && a.base == b.base && a.scale == b.scale &&
         a.factors.data() == b.factors.data() && a.factors.size() == b.factors.size();
}

// Of rope's pairs: an angle is a position times its pair's.
std::vector<double> FrequenciesOf(const Rope& rope) {
  Require(rope.dims >= 0 && rope.dims % 2 == 0, "rope turns whole pairs");
  Require(rope.factors.empty() || std::ssize(rope.factors) == rope.dims / 2,
          "rope has one factor per pair, or none");
  std::vector<double> frequencies;
  for (std::int32_t pair = 0; pair < rope.dims / 2; ++pair) {
    const double factor = rope.factors.empty() ? 1.0 : rope.factors[static_cast<std::size_t>(pair)];
    frequencies.push_back(rope.scale / factor *
                          std::pow(static_cast<double>(rope.base), -2.0 * pair / rope.dims));
  }
  return frequencies;
}

}  // namespace

void AngleTable::Begin() {
  for (Made& made : made_) made.is_of_step = false;
}

const float* AngleTable::Find(const Rope& rope) const {
  for (const Made& made : made_)
    if (made.is_of_step && IsSame(made.rope, rope)) return made.angles.as<float>();
  return nullptr;
}

const float* AngleTable::Make(const Rope& rope, std::span<const std::int32_t> positions,
                              Stream stream) {
  std::vector<double> frequencies = FrequenciesOf(rope);
  newest_ = 1 - newest_;
  Made& made = made_[newest_];
  made.is_of_step = false;  // should memory be short
  if (made.frequencies != frequencies) {
    made.frequencies.clear();
    staging_.Upload<double>(made.device_frequencies, frequencies);
    made.frequencies = std::move(frequencies);
  }
  made.angles.Grow(positions.size() * made.frequencies.size() * 2 * sizeof(float));
  const auto* device_positions = staging_.Upload<std::int32_t>(made.device_positions, positions);
  RopeAngles(stream, device_positions, made.device_frequencies.as<double>(),
             static_cast<std::int32_t>(positions.size()), rope.dims / 2, made.angles.as<float>());
  made.rope = rope;
  made.is_of_step = true;
  return made.angles.as<float>();
}

}  // namespace banyan::kernels::cuda
