#include "kernels/cpu/page_chooser.h"

#include <algorithm>
#include <numeric>

namespace banyan::kernels {

std::span<const RowRun> PageChooser::Choose(const Call& call) {
  const auto chooses = [&](const RowRun& run) {
    return run.choice.is_made() && call.layer >= run.choice.dense_layers;
  };
  if (std::ranges::none_of(call.runs, chooses)) return call.runs;
  const KvShape& shape = call.pages->shape();
  chosen_.clear();
  tasks_.clear();
  std::int64_t table = 0;
  std::int64_t most = 0;  // pages that a row chooses among
  for (const RowRun& run : call.runs) {
    if (!chooses(run)) {
      chosen_.push_back(run);
      continue;
    }
    const std::size_t first = tasks_.size();
    List(call, run);
    for (Task& task : std::span(tasks_).subspan(first)) {
      task.table = table;
      table += shape.kv_heads * run.choice.pages;
      most = std::max(most, task.pages);
    }
  }
  if (tasks_.empty()) return chosen_;
  ReadBounds(call);
  tables_.resize(static_cast<std::size_t>(table));
  scratch_.resize(static_cast<std::size_t>(pool_.threads()));
  for (Scratch& scratch : scratch_) {
    const auto numbers = static_cast<std::size_t>(call.heads / shape.kv_heads * shape.head_dim);
    scratch.above.resize(numbers);
    scratch.below.resize(numbers);
    scratch.scores.resize(static_cast<std::size_t>(most));
    scratch.order.resize(static_cast<std::size_t>(most));
  }
  pool_.ForPieces(std::ssize(tasks_) * shape.kv_heads, 1,
                  [&](std::int32_t thread, std::int64_t begin, std::int64_t /*end*/) {
                    ChooseOf(call, tasks_[static_cast<std::size_t>(begin / shape.kv_heads)],
                             static_cast<std::int32_t>(begin % shape.kv_heads),
                             scratch_[static_cast<std::size_t>(thread)]);
                  });
  for (const Task& task : tasks_) {
    const std::int64_t pages = task.run->choice.pages;
    RowRun& run = chosen_[task.chosen];
    run.pages = std::span(tables_).subspan(static_cast<std::size_t>(task.table),
                                           static_cast<std::size_t>(shape.kv_heads * pages));
    run.pages_per_head = pages;
    run.compacted = (task.pages - pages) * shape.page_size;
  }
  return chosen_;
}

// Its first rows, as far as they see no more pages than they would choose, stay together.
void PageChooser::List(const Call& call, const RowRun& run) {
  const std::int64_t page_size = call.pages->shape().page_size;
  const std::int64_t before = run.choice.pages * page_size - run.first_slot();
  const auto dense = static_cast<std::int32_t>(std::clamp<std::int64_t>(before, 0, run.rows));
  if (dense > 0) {
    chosen_.push_back(run);
    chosen_.back().rows = dense;
  }
  for (std::int32_t row = dense; row < run.rows; ++row) {
    tasks_.push_back({.run = &run,
                      .row = row,
                      .chosen = chosen_.size(),
                      .pages = (run.first_slot() + row) / page_size + 1});
    chosen_.push_back({.first_row = run.first_row + row,
                       .rows = 1,
                       .first_position = run.first_position + row,
                       .pages = {}});
  }
}

// Of the pages before the newest, which are whole. The last row of a run sees all of them.
void PageChooser::ReadBounds(const Call& call) {
  wanted_.clear();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    if (i + 1 < tasks_.size() && tasks_[i + 1].run == task.run) continue;
    const std::int64_t old = task.pages - task.run->choice.newest();
    for (std::int64_t page = 0; page < old; ++page) wanted_.push_back(task.run->page(page));
  }
  bounds_.Read(*call.pages, call.layer, wanted_);
}

void PageChooser::ChooseOf(const Call& call, const Task& task, std::int32_t kv_head,
                           Scratch& scratch) {
  const KvShape& shape = call.pages->shape();
  const std::int32_t group = call.heads / shape.kv_heads;
  const PageChoice& choice = task.run->choice;
  const std::int64_t old = task.pages - choice.newest();
  const float* q = call.q + (task.run->first_row + task.row) * call.stride +
                   std::int64_t{kv_head} * group * shape.head_dim;
  for (std::size_t i = 0; i < scratch.above.size(); ++i) {
    scratch.above[i] = q[i] > 0 ? q[i] : 0.0F;
    scratch.below[i] = q[i] - scratch.above[i];  // NaN where it is no number
  }
  const BoundQueries queries = {scratch.above.data(), scratch.below.data(), group, shape.head_dim};
  const std::span<float> scores = std::span(scratch.scores).first(static_cast<std::size_t>(old));
  for (std::int64_t i = 0; i < old; ++i) {
    const std::int32_t page = task.run->page(i);
    scores[static_cast<std::size_t>(i)] =
        ops_.score_bounds(queries, bounds_.Least(page, call.layer, kv_head),
                          bounds_.Greatest(page, call.layer, kv_head));
  }
  const auto order = std::span(scratch.order).first(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto best = order.first(static_cast<std::size_t>(choice.pages - choice.newest()));
  std::ranges::nth_element(order, order.begin() + std::ssize(best),
                           [&](std::int32_t a, std::int32_t b) {
                             const float left = scores[static_cast<std::size_t>(a)];
                             const float right = scores[static_cast<std::size_t>(b)];
                             return left != right ? left > right : a < b;
                           });
  std::ranges::sort(best);
  auto to = tables_.begin() + task.table + kv_head * choice.pages;
  for (const std::int32_t index : best) *to++ = task.run->page(index);
  for (std::int64_t index = old; index < task.pages; ++index) *to++ = task.run->page(index);
}

void PageChooser::Written(std::span<const RowRun> runs, std::int32_t page_size,
                          std::int32_t layer) {
  for (const RowRun& run : runs) {
    const std::int64_t first = run.first_slot();
    for (std::int64_t page = first / page_size; page <= (first + run.rows - 1) / page_size; ++page)
      bounds_.Forget(run.page(page), layer);
  }
}

}  // namespace banyan::kernels
