#include "kernels/cuda/angle_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cuda/kernels.h"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

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

const float* AngleTable::Of(const Rope& rope, std::span<const std::int32_t> positions,
                            Stream stream) {
  std::vector<double> frequencies = FrequenciesOf(rope);
  if (kept_[newest_].frequencies != frequencies) newest_ = 1 - newest_;
  Kept& kept = kept_[newest_];
  if (kept.frequencies == frequencies && std::ranges::equal(kept.positions, positions))
    return kept.angles.as<float>();
  kept.positions.clear();  // of nothing, should memory be short
  kept.angles.Grow(positions.size() * frequencies.size() * 2 * sizeof(float));
  const auto* device_positions = staging_.Upload<std::int32_t>(kept.device_positions, positions);
  const auto* device_frequencies = staging_.Upload<double>(kept.device_frequencies, frequencies);
  RopeAngles(stream, device_positions, device_frequencies,
             static_cast<std::int32_t>(positions.size()), rope.dims / 2, kept.angles.as<float>());
  kept.frequencies = std::move(frequencies);
  kept.positions.assign(positions.begin(), positions.end());
  return kept.angles.as<float>();
}

}  // namespace banyan::kernels::cuda
