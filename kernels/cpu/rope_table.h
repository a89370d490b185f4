// Cosines and sines for the rows of one step, computed once and used by every layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace banyan::kernels {

// Angles are computed in double from the position alone, so that a row's bits do not depend on the
// rows beside it.
class RopeTable {
 public:
  // Makes rows() and cos/sin valid for `runs`; cheap when they are those of the last call.
  void Prepare(const Rope& rope, std::span<const RowRun> runs);

  // Elements of a row: rope.dims rounded up to a multiple of 8; past rope.dims the identity.
  std::int64_t width() const { return width_; }
  // For row i in the order of the runs: cos[2p], cos[2p + 1] both the pair's cosine; sin[2p] the
  // negated and sin[2p + 1] the plain sine.
  const float* cos(std::int64_t i) const { return cos_.data() + i * width_; }
  const float* sin(std::int64_t i) const { return sin_.data() + i * width_; }

 private:
  Rope rope_;
  std::vector<double> frequencies_;      // of each pair
  std::vector<std::int64_t> positions_;  // of each row
  std::vector<std::int64_t> wanted_;     // scratch
  std::int64_t width_ = 0;
  std::vector<float> cos_;
  std::vector<float> sin_;
};

}  // namespace banyan::kernels
