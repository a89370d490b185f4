// What the layers of a step share on the device: angles of ropes, and who attends to what. Made
// once per step for each rope and window, and found again by the layers that follow without a look
// at the runs. Two of each, for models whose layers alternate between ropes and windows.
//
// A step is told by its layers, which come in order and with the same runs: it begins where keys
// are stored for a layer that is not behind the last one's, or with other runs.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/angle_table.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_plan.h"
#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/staging.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

class StepPlan {
 public:
  explicit StepPlan(Staging& staging)
      : staging_(staging), angles_(staging), sink_angles_(staging) {}

  // Keys of a layer are to be stored, or attended to, of these runs; what is asked for next is of
  // them.
  void Store(std::span<const RowRun> runs, std::int32_t layer);
  void Attend(std::span<const RowRun> runs, std::int32_t layer);

  // [rows, dims / 2][2], as RopeAngles writes them.
  const float* Angles(const Rope& rope, Stream stream);

  struct Attention {
    AttentionPlan host;
    AttentionWork device;
    const TokenPlace* places = nullptr;
    const std::int32_t* sink_rows = nullptr;
    const PagePair* begun = nullptr;
    const PagePair* full = nullptr;
    const ChoosingRow* choosing = nullptr;
    std::int32_t* tables = nullptr;  // where rows choose pages, to be written

    std::int32_t rows() const { return static_cast<std::int32_t>(host.rows.size()); }
  };
  // Of `heads` query heads. Valid until a third one is made: other windows, or layers in which
  // other runs choose pages, have others. Runs are checked (kernels/runs.h).
  const Attention& Of(const KvShape& shape, std::int64_t window, std::int32_t heads);
  // How many steps have begun, and the runs of the last.
  std::int64_t step() const { return step_; }
  std::span<const RowRun> runs() const { return runs_; }
  // Of the plan's sink_rows, by how far they are to be turned.
  const float* SinkAngles(const Rope& rope, const Attention& attention, Stream stream);

 private:
  struct Made {
    bool is_of_step = false;
    std::int64_t window = 0;
    std::int32_t heads = 0;
    std::int64_t choosing = 0;  // runs that choose pages
    Attention plan;
    DeviceBuffer memory;
  };
  void Begin(std::span<const RowRun> runs);
  bool IsOfStep(std::span<const RowRun> runs) const {
    return runs.data() == runs_.data() && runs.size() == runs_.size();
  }
  // Of the runs, those that choose pages in the last layer: where they are as many they are the
  // same, within a step.
  std::int64_t CountChoosing() const;
  void Upload(Made& made);

  Staging& staging_;
  std::span<const RowRun> runs_;  // of the step
  std::int32_t layer_ = -1;       // the last one whose keys were stored
  bool attended_ = false;         // in it
  bool checked_ = false;          // the runs are
  std::int64_t step_ = 0;
  std::vector<std::int32_t> dense_layers_;  // of runs that choose pages, in order
  AngleTable angles_;
  AngleTable sink_angles_;
  std::vector<std::int32_t> positions_;  // scratch
  std::array<Made, 2> attention_;
  std::size_t newest_attention_ = 0;
};

}  // namespace banyan::kernels::cuda
