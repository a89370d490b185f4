#include "kernels/cuda/step_plan.h"

#include <algorithm>
#include <limits>

#include "kernels/runs.h"

namespace banyan::kernels::cuda {

void StepPlan::Store(std::span<const RowRun> runs, std::int32_t layer) {
  if (layer <= layer_ || !IsOfStep(runs)) Begin(runs);
  layer_ = layer;
  attended_ = false;
}

void StepPlan::Attend(std::span<const RowRun> runs, std::int32_t layer) {
  if (layer != layer_ || attended_ || !IsOfStep(runs)) Begin(runs);
  layer_ = layer;
  attended_ = true;
}

void StepPlan::Begin(std::span<const RowRun> runs) {
  runs_ = runs;
  checked_ = false;
  ++step_;
  dense_layers_.clear();
  for (const RowRun& run : runs)
    if (run.choice.is_made()) dense_layers_.push_back(run.choice.dense_layers);
  std::ranges::sort(dense_layers_);
  angles_.Begin();
  sink_angles_.Begin();
  for (Made& made : attention_) made.is_of_step = false;
}

const float* StepPlan::Angles(const Rope& rope, Stream stream) {
  if (const float* found = angles_.Find(rope); found != nullptr) return found;
  positions_.clear();
  for (const RowRun& run : runs_)
    for (std::int32_t i = 0; i < run.rows; ++i)
      positions_.push_back(static_cast<std::int32_t>(run.first_position + i));
  return angles_.Make(rope, positions_, stream);
}

const float* StepPlan::SinkAngles(const Rope& rope, const Attention& attention, Stream stream) {
  if (const float* found = sink_angles_.Find(rope); found != nullptr) return found;
  return sink_angles_.Make(rope, attention.host.sink_turns, stream);
}

const StepPlan::Attention& StepPlan::Of(const KvShape& shape, std::int64_t window,
                                        std::int32_t heads) {
  const std::int64_t choosing = CountChoosing();
  for (const Made& made : attention_)
    if (made.is_of_step && made.window == window && made.heads == heads &&
        made.choosing == choosing)
      return made.plan;
  if (!checked_) CheckRuns(runs_, std::numeric_limits<std::int32_t>::max(), shape);
  checked_ = true;
  newest_attention_ = 1 - newest_attention_;
  Made& made = attention_[newest_attention_];
  made.is_of_step = false;  // should memory be short
  made.plan.host.Make(runs_, shape, window, heads, layer_);
  Upload(made);
  made.window = window;
  made.heads = heads;
  made.choosing = choosing;
  made.is_of_step = true;
  return made.plan;
}

std::int64_t StepPlan::CountChoosing() const {
  return std::ranges::upper_bound(dense_layers_, layer_) - dense_layers_.begin();
}

void StepPlan::Upload(Made& made) {
  const AttentionPlan& host = made.plan.host;
  PackedArrays arrays;
  const auto tiles = arrays.Add<AttentionTile>(host.tiles);
  const auto tile_rows = arrays.Add<AttentionTileRow>(host.tile_rows);
  const auto row_keys = arrays.Add<AttentionRow>(host.rows);
  const auto first_item = arrays.Add<std::int32_t>(host.first_item);
  const auto tables = arrays.Add<std::int32_t>(host.tables);
  const auto places = arrays.Add<TokenPlace>(host.places);
  const auto sink_rows = arrays.Add<std::int32_t>(host.sink_rows);
  const auto begun = arrays.Add<PagePair>(host.begun);
  const auto full = arrays.Add<PagePair>(host.full);
  const auto choosing = arrays.Add<ChoosingRow>(host.choosing);
  const std::byte* at = staging_.Upload(made.memory, arrays);
  made.plan.device = {.tiles = tiles.From(at),
                      .tile_rows = tile_rows.From(at),
                      .row_keys = row_keys.From(at),
                      .first_item = first_item.From(at),
                      .tables = tables.From(at)};
  made.plan.places = places.From(at);
  made.plan.sink_rows = sink_rows.From(at);
  made.plan.begun = begun.From(at);
  made.plan.full = full.From(at);
  made.plan.choosing = choosing.From(at);
  made.plan.tables = reinterpret_cast<std::int32_t*>(made.memory.as<std::byte>() + tables.at);
}

}  // namespace banyan::kernels::cuda
