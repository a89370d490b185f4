#include "kernels/cuda/step_plan.h"

#include <limits>

#include "kernels/runs.h"

namespace banyan::kernels::cuda {
namespace {

// Equal for runs that hold the same.
void Write(std::span<const RowRun> runs, std::vector<std::int64_t>& key) {
  key.clear();
  for (const RowRun& run : runs) {
    key.insert(key.end(), {run.first_row, run.rows, run.first_position, run.window.window,
                           run.window.sinks, run.front_pages, run.dropped_pages, run.open_page,
                           run.compacted, run.choice.pages, std::ssize(run.pages)});
    key.insert(key.end(), run.pages.begin(), run.pages.end());
  }
}

}  // namespace

const float* StepPlan::Angles(const Rope& rope, std::span<const RowRun> runs, Stream stream) {
  positions_.clear();
  for (const RowRun& run : runs)
    for (std::int32_t i = 0; i < run.rows; ++i)
      positions_.push_back(static_cast<std::int32_t>(run.first_position + i));
  return angles_.Of(rope, positions_, stream);
}

const float* StepPlan::SinkAngles(const Rope& rope, const Attention& attention, Stream stream) {
  return sink_angles_.Of(rope, attention.host.sink_turns, stream);
}

const StepPlan::Attention& StepPlan::Attend(std::span<const RowRun> runs, const KvShape& shape,
                                            std::int64_t window, std::int32_t heads) {
  Write(runs, key_);
  key_.push_back(heads);
  if (attention_[newest_attention_].window != window) newest_attention_ = 1 - newest_attention_;
  KeptAttention& kept = attention_[newest_attention_];
  if (kept.window == window && !kept.runs.empty() && kept.runs == key_) return kept.plan;
  kept.runs.clear();  // of nothing, should memory be short
  CheckRuns(runs, std::numeric_limits<std::int32_t>::max(), shape);
  kept.plan.host.Make(runs, shape, window, heads);
  kept.window = window;
  Upload(kept);
  kept.runs = key_;
  return kept.plan;
}

void StepPlan::Upload(KeptAttention& kept) {
  const AttentionPlan& host = kept.plan.host;
  kept.plan.device = {
      .tiles = staging_.Upload<AttentionTile>(kept.tiles, host.tiles),
      .tile_rows = staging_.Upload<AttentionTileRow>(kept.tile_rows, host.tile_rows),
      .row_keys = staging_.Upload<AttentionRow>(kept.row_keys, host.rows),
      .first_item = staging_.Upload<std::int32_t>(kept.first_item, host.first_item),
      .tables = staging_.Upload<std::int32_t>(kept.tables, host.tables)};
  kept.plan.places = staging_.Upload<TokenPlace>(kept.places, host.places);
  kept.plan.sink_rows = staging_.Upload<std::int32_t>(kept.sink_rows, host.sink_rows);
  kept.plan.begun = staging_.Upload<PagePair>(kept.begun, host.begun);
  kept.plan.full = staging_.Upload<PagePair>(kept.full, host.full);
}

}  // namespace banyan::kernels::cuda
