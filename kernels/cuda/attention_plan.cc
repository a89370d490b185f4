#include "kernels/cuda/attention_plan.h"

#include <algorithm>

#include "kernels/require.h"

namespace banyan::kernels::cuda {

void AttentionPlan::Make(std::span<const RowRun> runs, std::int32_t page_size,
                         std::int64_t window) {
  constexpr std::int64_t kChunk = AttentionItem::kChunkKeys;
  items.clear();
  first_item.assign(1, 0);
  positions.clear();
  first_page.clear();
  tables.clear();
  slots.clear();
  for (const RowRun& run : runs) {
    Require(run.first_row == static_cast<std::int32_t>(positions.size()), "runs follow each other");
    Require(!run.window.is_bounded() && run.dropped_pages == 0, "no run has a window of its own");
    const auto table = static_cast<std::int64_t>(tables.size());
    tables.insert(tables.end(), run.pages.begin(), run.pages.end());
    for (std::int64_t row = run.first_row; row < run.first_row + run.rows; ++row) {
      const std::int64_t position = run.first_position + row - run.first_row;
      const std::int64_t oldest =
          window == 0 ? 0 : std::max<std::int64_t>(0, position + 1 - window);
      for (std::int64_t key = oldest / kChunk * kChunk; key <= position; key += kChunk)
        items.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(key)});
      first_item.push_back(static_cast<std::int32_t>(items.size()));
      positions.push_back(static_cast<std::int32_t>(position));
      first_page.push_back(table);
      slots.push_back(std::int64_t{run.page(position / page_size)} * page_size +
                      position % page_size);
    }
  }
}

}  // namespace banyan::kernels::cuda
