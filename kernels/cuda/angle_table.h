// The angles by which ropes turn the rows of a step, in the device's memory: made once per step and
// rope. Those of two ropes, for models whose layers alternate.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/staging.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

class AngleTable {
 public:
  explicit AngleTable(Staging& staging) : staging_(staging) {}

  // A step begins, whose positions are others.
  void Begin();
  // [positions, dims / 2][2], as RopeAngles writes them; null where the step has made none of this
  // rope. Valid until those of a third rope are made.
  const float* Find(const Rope& rope) const;
  // Positions may be negative.
  const float* Make(const Rope& rope, std::span<const std::int32_t> positions, Stream stream);

 private:
  struct Made {
    Rope rope;
    bool is_of_step = false;
    std::vector<double> frequencies;  // as the device has them
    DeviceBuffer device_frequencies;
    DeviceBuffer device_positions;
    DeviceBuffer angles;
  };

  Staging& staging_;
  std::array<Made, 2> made_;
  std::size_t newest_ = 0;
};

}  // namespace banyan::kernels::cuda
