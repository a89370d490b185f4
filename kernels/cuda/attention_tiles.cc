#include "kernels/cuda/attention_tiles.h"

#include <algorithm>
#include <limits>

#include "kernels/cuda/attention_plan.h"

namespace banyan::kernels::cuda {

void AttentionTiles::Begin(AttentionPlan& plan, std::int32_t group, std::int32_t page_size) {
  plan_ = &plan;
  group_ = group;
  page_size_ = page_size;
  part_ = {};
}

// The last rows see the most keys, and come first.
void AttentionTiles::AddWhole(std::int32_t first_row, std::int32_t rows) {
  rows_.clear();
  for (std::int32_t row = first_row; row < first_row + rows; ++row) rows_.push_back({.row = row});
  const std::int32_t size = AttentionTile::kMaxQueries / group_;
  for (std::int32_t end = rows; end > 0; end -= size) {
    const std::int32_t count = std::min(end, size);
    AddTile(std::span(rows_).subspan(static_cast<std::size_t>(end - count),
                                     static_cast<std::size_t>(count)),
            AttentionReads::kWindow, {0, std::numeric_limits<std::int32_t>::max()});
  }
}

void AttentionTiles::AddItems(std::span<const RowRun> runs, std::int32_t max_items) {
  next_.assign(plan_->items.size(), kNone);
  for (const RowRun& run : runs) {
    BeginRun(run);
    for (std::int32_t row = run.first_row; row < run.first_row + run.rows; ++row) {
      const std::int32_t first = plan_->first_item[static_cast<std::size_t>(row)];
      const std::int32_t end = plan_->first_item[static_cast<std::size_t>(row) + 1];
      if (part_.items > 0 && part_.items + end - first > max_items) {
        EndPart();
        part_ = {.first_row = row,
                 .first_item = first,
                 .first_tile = static_cast<std::int32_t>(plan_->tiles.size())};
        BeginRun(run);
      }
      for (std::int32_t item = first; item < end; ++item) AddItem(item);
      part_.items += end - first;
      ++part_.rows;
    }
  }
  if (part_.rows > 0) EndPart();
}

void AttentionTiles::BeginRun(const RowRun& run) {
  first_group_ = groups_.size();
  like_ = {};
  pages_alike_ = 0;
  by_chunk_ = !run.window.is_bounded();
  if (!by_chunk_) return;
  const auto [newest, is_first] = newest_run_.try_emplace(run.pages.front(), runs_.size());
  if (!is_first) {
    like_ = runs_[newest->second];
    pages_alike_ = std::ranges::mismatch(like_.pages, run.pages).in1 - like_.pages.begin();
    newest->second = runs_.size();
  }
  const std::int64_t last = run.first_slot() + run.rows - 1;
  runs_.push_back({.pages = run.pages,
                   .first_chunk = group_of_chunk_.size(),
                   .chunks = static_cast<std::int32_t>(last / kChunkKeys + 1)});
  group_of_chunk_.resize(group_of_chunk_.size() + static_cast<std::size_t>(runs_.back().chunks),
                         kNone);
}

// Of the run that is `like_`, where both have all pages of the chunk in common.
std::int32_t AttentionTiles::SharedGroup(std::int32_t chunk) const {
  const std::int64_t end = (std::int64_t{chunk} + 1) * kChunkKeys;
  if (chunk >= like_.chunks || (end + page_size_ - 1) / page_size_ > pages_alike_) return kNone;
  return group_of_chunk_[like_.first_chunk + static_cast<std::size_t>(chunk)];
}

// The run's group of items that read the same, or kNone.
std::int32_t AttentionTiles::FindGroup(std::int32_t item) const {
  const AttentionItem& own = plan_->items[static_cast<std::size_t>(item)];
  const auto own_page = [&](const AttentionItem& of) {
    return IsOwn(of.reads) ? plan_->rows[static_cast<std::size_t>(of.row)].own_page : 0;
  };
  for (std::size_t i = groups_.size(); i > first_group_; --i) {
    const AttentionItem& other = plan_->items[static_cast<std::size_t>(groups_[i - 1].last)];
    if (other.reads == own.reads && other.first_key == own.first_key &&
        own_page(other) == own_page(own))
      return static_cast<std::int32_t>(i - 1);
  }
  return kNone;
}

void AttentionTiles::AddItem(std::int32_t item) {
  const AttentionItem& added = plan_->items[static_cast<std::size_t>(item)];
  std::int32_t* by_chunk = nullptr;
  std::int32_t found = kNone;
  if (plan_->rows[static_cast<std::size_t>(added.row)].pages_per_head > 0) {
    // Nobody else has its pages.
  } else if (by_chunk_ && added.reads == AttentionReads::kWindow) {
    const std::int32_t chunk = added.first_key / kChunkKeys;
    by_chunk = &group_of_chunk_[runs_.back().first_chunk + static_cast<std::size_t>(chunk)];
    found = *by_chunk != kNone ? *by_chunk : SharedGroup(chunk);
  } else {
    found = FindGroup(item);
  }
  if (found == kNone) {
    found = static_cast<std::int32_t>(groups_.size());
    groups_.push_back({item, item});
  } else {
    Group& group = groups_[static_cast<std::size_t>(found)];
    next_[static_cast<std::size_t>(group.last)] = item;
    group.last = item;
  }
  if (by_chunk != nullptr) *by_chunk = found;
}

// As few as hold the group's rows; the last is a small one where it may be.
void AttentionTiles::AddTiles(const Group& group) {
  rows_.clear();
  for (std::int32_t i = group.first; i != kNone; i = next_[static_cast<std::size_t>(i)])
    rows_.push_back({plan_->items[static_cast<std::size_t>(i)].row, i});
  const AttentionItem& item = plan_->items[static_cast<std::size_t>(group.first)];
  const auto size = static_cast<std::size_t>(AttentionTile::kMaxQueries / group_);
  for (std::span<const AttentionTileRow> left = rows_; !left.empty();) {
    const std::size_t count = std::min(left.size(), size);
    AddTile(left.first(count), item.reads, {item.first_key, item.first_key + kChunkKeys});
    left = left.subspan(count);
  }
}

void AttentionTiles::AddTile(std::span<const AttentionTileRow> rows, AttentionReads reads,
                             KeyRange chunk) {
  const AttentionRow& first = plan_->rows[static_cast<std::size_t>(rows.front().row)];
  AttentionTile tile{
      .first_page = first.first_page - (AreSinks(reads) ? 0 : first.dropped_pages),
      .pages_per_head = first.pages_per_head,
      .first_row = static_cast<std::int32_t>(plan_->tile_rows.size()),
      .rows = static_cast<std::int32_t>(rows.size()),
      .some = {chunk.end, chunk.begin},
      .all = chunk,
      .reads = reads,
      .own_page = first.own_page,
      .own_first = first.own_first,
  };
  for (const AttentionTileRow& row : rows) {
    const KeyRange seen = plan_->rows[static_cast<std::size_t>(row.row)].Seen(reads);
    const KeyRange of_chunk{std::max(seen.begin, chunk.begin), std::min(seen.end, chunk.end)};
    tile.some = {std::min(tile.some.begin, of_chunk.begin), std::max(tile.some.end, of_chunk.end)};
    tile.all = {std::max(tile.all.begin, of_chunk.begin), std::min(tile.all.end, of_chunk.end)};
  }
  plan_->tile_rows.insert(plan_->tile_rows.end(), rows.begin(), rows.end());
  const bool small = tile.rows * group_ <= QueriesOf(TileKind::kSmall);
  const TileKind kind = IsOwn(reads) ? (small ? TileKind::kOwnSmall : TileKind::kOwnLarge)
                                     : (small ? TileKind::kSmall : TileKind::kLarge);
  tiles_[static_cast<std::size_t>(kind)].push_back(tile);
}

void AttentionTiles::EndPart() {
  for (const Group& group : groups_) AddTiles(group);
  for (std::size_t kind = 0; kind < kTileKinds; ++kind) {
    part_.tiles[kind] = static_cast<std::int32_t>(tiles_[kind].size());
    plan_->tiles.insert(plan_->tiles.end(), tiles_[kind].begin(), tiles_[kind].end());
    tiles_[kind].clear();
  }
  plan_->parts.push_back(part_);
  groups_.clear();
  runs_.clear();
  group_of_chunk_.clear();
  newest_run_.clear();
}

}  // namespace banyan::kernels::cuda
