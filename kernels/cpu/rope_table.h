// Cosines and sines for the rows of one step, computed once and used by every layer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace banyan::kernels {

// Angles are computed in double from the position alone, so that a row's bits do not depend on the
// rows beside it. Those of two ropes are kept: a step may use two in turn.
class RopeTable {
 public:
  // Of one rope, for row i in the order of the runs. Values past the last pair turn by nothing.
  //   neighbours: cos[2p] and cos[2p + 1] are pair p's cosine, sin[2p] its negated sine,
  //               sin[2p + 1] its sine
  //   halves:     cos[p] and sin[p] are pair p's
  class Angles {
   public:
    const float* cos(std::int64_t i) const { return cos_.data() + i * width_; }
    const float* sin(std::int64_t i) const { return sin_.data() + i * width_; }

   private:
    friend class RopeTable;
    bool IsOf(const Rope& rope) const;
    void SetRope(const Rope& rope);
    void SetPositions(const std::vector<std::int64_t>& positions);

    Rope rope_;
    std::vector<float> factors_;           // what rope_.factors views
    std::vector<double> frequencies_;      // of each pair, per position
    std::vector<std::int64_t> positions_;  // of each row
    std::int64_t width_ = 0;               // values of a row: whole vectors of 8
    std::vector<float> cos_;
    std::vector<float> sin_;
  };

  // Cheap where neither rope nor runs changed. Valid until a call with a third rope.
  const Angles& Prepare(const Rope& rope, std::span<const RowRun> runs);
  // As that for rows at `positions`, which may be negative.
  const Angles& Prepare(const Rope& rope, const std::vector<std::int64_t>& positions);

 private:
  std::array<Angles, 2> kept_;
  std::size_t newest_ = 0;
  std::vector<std::int64_t> wanted_;  // scratch
};

}  // namespace banyan::kernels
