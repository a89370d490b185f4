#include "kernels/cuda/page_bounds.h"

#include <algorithm>

#include "kernels/bounds_bytes.h"

namespace banyan::kernels::cuda {

void PageBounds::Reset() {
  memory_ = DeviceBuffer();
  known_.clear();
}

void PageBounds::Written(std::int32_t page) {
  if (!known_.empty()) known_[static_cast<std::size_t>(page)] = false;
}

void PageBounds::Begin(std::span<const RowRun> runs, const PageMemory& pages, Stream stream) {
  const KvShape& shape = pages.shape();
  unknown_.clear();
  filled_.clear();
  const bool some_choose =
      std::ranges::any_of(runs, [](const RowRun& run) { return run.choice.is_made(); });
  if (some_choose && known_.empty()) {
    memory_ = DeviceBuffer(static_cast<std::size_t>(BoundsBytes(shape) * shape.pages));
    view_ = {memory_.as<Bf16>(), shape.pages, shape.kv_heads, shape.head_dim};
    known_.assign(static_cast<std::size_t>(shape.pages), false);
  }
  if (known_.empty()) return;
  for (const RowRun& run : runs) {
    const std::int64_t last = (run.first_slot() + run.rows - 1) / shape.page_size;
    for (std::int64_t page = run.first_slot() / shape.page_size; page <= last; ++page)
      Written(run.page(page));
  }
  if (!some_choose) return;
  for (const RowRun& run : runs)
    if (run.choice.is_made()) List(run, shape.page_size);
  const auto* which = staging_.Upload<std::int32_t>(device_unknown_, unknown_);
  staging_.Upload<std::int32_t>(device_filled_, filled_);
  ReadKeyBounds(stream, which, static_cast<std::int32_t>(unknown_.size()), pages.view().pages, 0,
                shape.layers, view_);
  for (const std::int32_t page : unknown_) known_[static_cast<std::size_t>(page)] = true;
}

// Its last row chooses among all pages but the newest.
void PageBounds::List(const RowRun& run, std::int32_t page_size) {
  const std::int64_t first = run.first_slot() / page_size;
  const std::int64_t old = (run.first_slot() + run.rows - 1) / page_size + 1 - run.choice.newest();
  for (std::int64_t index = 0; index < std::min(first, old); ++index)
    if (!known_[static_cast<std::size_t>(run.page(index))]) unknown_.push_back(run.page(index));
  for (std::int64_t index = first; index < old; ++index) filled_.push_back(run.page(index));
}

const BoundsView& PageBounds::Read(const PageMemory& pages, std::int32_t layer, Stream stream) {
  ReadKeyBounds(stream, device_filled_.as<std::int32_t>(),
                static_cast<std::int32_t>(filled_.size()), pages.view().pages, layer, 1, view_);
  return view_;
}

}  // namespace banyan::kernels::cuda
