// What the layers of a step share on the device: angles of ropes, and who attends to what. Made at
// a step's first call for each and kept until the runs change; two of each, for models whose layers
// alternate between ropes and windows.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/angle_table.h"
#include "kernels/cuda/attention_plan.h"
#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/staging.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

class StepPlan {
 public:
  explicit StepPlan(Staging& staging)
      : staging_(staging), angles_(staging), sink_angles_(staging) {}

  // [rows, dims / 2][2], as RopeAngles writes them.
  const float* Angles(const Rope& rope, std::span<const RowRun> runs, Stream stream);

  struct Attention {
    AttentionPlan host;
    AttentionWork device;
    const TokenPlace* places = nullptr;
    const std::int32_t* sink_rows = nullptr;
    const PagePair* begun = nullptr;
    const PagePair* full = nullptr;

    std::int32_t rows() const { return static_cast<std::int32_t>(host.rows.size()); }
  };
  // Of `heads` query heads. Valid until the next call. Runs are checked (kernels/runs.h) when they
  // are new.
  const Attention& Attend(std::span<const RowRun> runs, const KvShape& shape, std::int64_t window,
                          std::int32_t heads);
  // Of the plan's sink_rows, by how far they are to be turned.
  const float* SinkAngles(const Rope& rope, const Attention& attention, Stream stream);

 private:
  // Runs by what they hold.
  using Key = std::vector<std::int64_t>;
  struct KeptAttention {
    Key runs;
    std::int64_t window = 0;
    Attention plan;
    DeviceBuffer tiles, tile_rows, row_keys, first_item, tables, places, sink_rows, begun, full;
  };
  void Upload(KeptAttention& kept);

  Staging& staging_;
  AngleTable angles_;
  AngleTable sink_angles_;
  std::vector<std::int32_t> positions_;  // scratch
  Key key_;                              // scratch
  std::array<KeptAttention, 2> attention_;
  std::size_t newest_attention_ = 0;
};

}  // namespace banyan::kernels::cuda
