// The angles by which ropes turn the rows of a step, in the device's memory: made at first use and
// kept until the positions change. Those of two ropes, for models whose layers alternate.
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

  // [positions, dims / 2][2], as RopeAngles writes them; positions may be negative. Valid until
  // the call for a third rope.
  const float* Of(const Rope& rope, std::span<const std::int32_t> positions, Stream stream);

 private:
  struct Kept {
    std::vector<double> frequencies;
    std::vector<std::int32_t> positions;
    DeviceBuffer device_frequencies;
    DeviceBuffer device_positions;
    DeviceBuffer angles;
  };

  Staging& staging_;
  std::array<Kept, 2> kept_;
  std::size_t newest_ = 0;
};

}  // namespace banyan::kernels::cuda
