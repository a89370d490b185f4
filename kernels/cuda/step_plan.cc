#include "kernels/cuda/step_plan.h"

#include <cmath>

#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

// Equal for runs that hold the same.
void Write(std::span<const RowRun> runs, std::vector<std::int64_t>& key) {
  key.clear();
  for (const RowRun& run : runs) {
    key.push_back(run.first_row);
    key.push_back(run.rows);
    key.push_back(run.first_position);
    key.push_back(std::ssize(run.pages));
    key.insert(key.end(), run.pages.begin(), run.pages.end());
  }
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

// Which of two kept ones is it, or is to be: the newest, else the other.
template <class Kept, class Is>
Kept& Find(std::array<Kept, 2>& kept, std::size_t& newest, const Is& is) {
  if (!is(kept[newest])) newest = 1 - newest;
  return kept[newest];
}

}  // namespace

const float* StepPlan::Angles(const Rope& rope, std::span<const RowRun> runs, Stream stream) {
  const std::vector<double> frequencies = FrequenciesOf(rope);
  Write(runs, key_);
  const auto is_ropes = [&](const KeptAngles& a) { return a.frequencies == frequencies; };
  KeptAngles& kept = Find(angles_, newest_angles_, is_ropes);
  if (is_ropes(kept) && kept.runs == key_) return kept.angles.as<float>();
  kept.runs.clear();  // of nothing, should memory be short
  std::vector<std::int32_t> positions;
  for (const RowRun& run : runs)
    for (std::int32_t i = 0; i < run.rows; ++i)
      positions.push_back(static_cast<std::int32_t>(run.first_position + i));
  kept.angles.Grow(positions.size() * frequencies.size() * 2 * sizeof(float));
  const auto* device_positions = staging_.Upload<std::int32_t>(kept.positions, positions);
  const auto* device_frequencies = staging_.Upload<double>(kept.device_frequencies, frequencies);
  RopeAngles(stream, device_positions, device_frequencies,
             static_cast<std::int32_t>(positions.size()), rope.dims / 2, kept.angles.as<float>());
  kept.frequencies = frequencies;
  kept.runs = key_;
  return kept.angles.as<float>();
}

const StepPlan::Attention& StepPlan::Attend(std::span<const RowRun> runs, std::int32_t page_size,
                                            std::int64_t window) {
  Write(runs, key_);
  const auto is_windows = [&](const KeptAttention& a) { return a.window == window; };
  KeptAttention& kept = Find(attention_, newest_attention_, is_windows);
  if (is_windows(kept) && !kept.runs.empty() && kept.runs == key_) return kept.plan;
  kept.runs.clear();
  kept.plan.host.Make(runs, page_size, window);
  kept.window = window;
  Upload(kept);
  kept.runs = key_;
  return kept.plan;
}

void StepPlan::Upload(KeptAttention& kept) {
  const AttentionPlan& host = kept.plan.host;
  kept.plan.device = {.items = staging_.Upload<AttentionItem>(kept.items, host.items),
                      .first_item = staging_.Upload<std::int32_t>(kept.first_item, host.first_item),
                      .positions = staging_.Upload<std::int32_t>(kept.positions, host.positions),
                      .first_page = staging_.Upload<std::int64_t>(kept.first_page, host.first_page),
                      .tables = staging_.Upload<std::int32_t>(kept.tables, host.tables),
                      .window = static_cast<std::int32_t>(kept.window),
                      .rows = static_cast<std::int32_t>(host.positions.size()),
                      .item_count = static_cast<std::int32_t>(host.items.size())};
  kept.plan.slots = staging_.Upload<std::int64_t>(kept.slots, host.slots);
}

}  // namespace banyan::kernels::cuda
