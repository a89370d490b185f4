// Which rows of a step attend together: those of a run, and those of runs whose tables begin with
// the same pages, as far as they do. So keys of a prompt are read once per tile and not once per
// row, and keys of a shared prefix once per tile and not once per sequence. Juravsky et al.,
// "Hydragen: High-throughput LLM inference with shared prefixes", 2024.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

struct AttentionPlan;

// Keeps its memory from step to step.
class AttentionTiles {
 public:
  // Of a plan that has its rows and items when they are added. `group` query heads share a KV head.
  void Begin(AttentionPlan& plan, std::int32_t group, std::int32_t page_size);
  // Rows of one run, which have no items.
  void AddWhole(std::int32_t first_row, std::int32_t rows);
  // All items, in parts; once, and last.
  void AddItems(std::span<const RowRun> runs, std::int32_t max_items);

 private:
  static constexpr std::int32_t kNone = -1;
  // Items that read the same, in the order of their rows.
  struct Group {
    std::int32_t first = kNone;
    std::int32_t last = kNone;
  };
  // The groups of a run by chunk, where its table has all its keys.
  struct Run {
    std::span<const std::int32_t> pages;
    std::size_t first_chunk = 0;  // in group_of_chunk_
    std::int32_t chunks = 0;
  };

  void BeginRun(const RowRun& run);
  void AddItem(std::int32_t item);
  std::int32_t FindGroup(std::int32_t item) const;
  std::int32_t SharedGroup(std::int32_t chunk) const;
  void AddTiles(const Group& group);
  void AddTile(std::span<const AttentionTileRow> rows, AttentionReads reads, KeyRange chunk);
  void EndPart();

  AttentionPlan* plan_ = nullptr;
  std::int32_t group_ = 1;
  std::int32_t page_size_ = 1;
  std::vector<std::int32_t> next_;  // of each item: that which follows it in its group

  // Of the part.
  AttentionPart part_;
  std::array<std::vector<AttentionTile>, kTileKinds> tiles_;
  std::vector<Group> groups_;
  std::vector<Run> runs_;  // those with groups by chunk
  std::vector<std::int32_t> group_of_chunk_;
  std::unordered_map<std::int32_t, std::size_t>
      newest_run_;  // by the page that a table begins with

  // Of the run.
  std::size_t first_group_ = 0;
  bool by_chunk_ = false;  // it is runs_.back()
  Run like_;               // the newest before it that begins with the same page
  std::int64_t pages_alike_ = 0;

  std::vector<AttentionTileRow> rows_;  // scratch
};

}  // namespace banyan::kernels::cuda
