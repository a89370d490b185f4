#include "tests/cuda/rig.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/kernels/kept.h"

namespace banyan::kernels::cuda::testing {
namespace {

std::int32_t PagesOf(std::int32_t tokens, std::int32_t page_size) {
  return (tokens + page_size - 1) / page_size;
}

AttentionPlan Made(std::span<const RowRun> runs, std::int32_t page_size, std::int64_t window) {
  AttentionPlan plan;
  plan.Make(runs, page_size, window);
  return plan;
}

std::int32_t CountPages(const Heads& heads, const std::vector<std::int32_t>& lengths) {
  std::int32_t count = 0;
  for (const std::int32_t length : lengths) count += PagesOf(length, heads.page_size);
  return count;
}

Rows KeptRows(const Heads& heads, Rows rows) {
  for (Row& row : rows) {
    for (std::int32_t at = 0; at < heads.kv_heads * heads.head_dim; at += heads.head_dim) {
      const Row kept =
          kernels::testing::Kept(heads.format, std::span(row).subspan(at, heads.head_dim));
      std::ranges::copy(kept, row.begin() + at);
    }
  }
  return rows;
}

}  // namespace

Row Flat(const Rows& rows) {
  Row out;
  for (const Row& row : rows) out.insert(out.end(), row.begin(), row.end());
  return out;
}

Rows Unflat(const Row& values, std::int64_t cols) {
  Rows rows;
  for (auto at = values.begin(); at != values.end(); at += cols) rows.emplace_back(at, at + cols);
  return rows;
}

Pages::Pages(const Heads& heads, std::int32_t layers, std::int32_t count) {
  const KvShape shape{layers, heads.kv_heads, heads.head_dim, heads.page_size, count, heads.format};
  const std::int64_t bytes = ViewPages(shape, nullptr).page_bytes * count;
  memory_ = std::make_unique<DeviceArray<std::byte>>(static_cast<std::size_t>(bytes));
  Fill(memory_->data(), 0xff, memory_->size(), nullptr);
  view_ = ViewPages(shape, memory_->data());
}

DevicePlan::DevicePlan(std::span<const RowRun> runs, std::int32_t page_size, std::int64_t window)
    : DevicePlan(Made(runs, page_size, window), window) {}

DevicePlan::DevicePlan(const AttentionPlan& plan, std::int64_t window)
    : window_(window),
      items_(plan.items),
      first_item_(plan.first_item),
      positions_(plan.positions),
      first_page_(plan.first_page),
      tables_(plan.tables),
      slots_(plan.slots) {}

AttentionWork DevicePlan::work() const {
  return {.items = items_.data(),
          .first_item = first_item_.data(),
          .positions = positions_.data(),
          .first_page = first_page_.data(),
          .tables = tables_.data(),
          .window = static_cast<std::int32_t>(window_),
          .rows = static_cast<std::int32_t>(positions_.size()),
          .item_count = static_cast<std::int32_t>(items_.size())};
}

Sequences::Sequences(const Heads& heads, const std::vector<std::int32_t>& lengths,
                     std::uint32_t seed)
    : heads_(heads), lengths_(lengths), pages_(heads, 2, CountPages(heads, lengths)) {
  std::vector<std::int32_t> ids(CountPages(heads, lengths));
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(seed));
  auto next = ids.begin();
  for (const std::int32_t length : lengths) {
    const auto end = next + PagesOf(length, heads.page_size);
    tables_.emplace_back(next, end);
    next = end;
    keys_.push_back(RandomRows(length, heads.kv_heads * heads.head_dim, ++seed));
    values_.push_back(RandomRows(length, heads.kv_heads * heads.head_dim, ++seed));
  }
  Store();
}

void Sequences::Store() {
  for (std::size_t s = 0; s < lengths_.size(); ++s) {
    const RowRun run{.first_row = 0, .rows = lengths_[s], .first_position = 0, .pages = tables_[s]};
    const DevicePlan plan(std::span(&run, 1), heads_.page_size, 0);
    DeviceArray<float> k(Flat(keys_[s]));
    DeviceArray<float> v(Flat(values_[s]));
    DeviceArray<float> q(Row(static_cast<std::size_t>(lengths_[s]) * heads_.head_dim, 0.0F));
    RopeAndStore(nullptr,
                 {.q = q.data(),
                  .k = k.data(),
                  .v = v.data(),
                  .rows = lengths_[s],
                  .heads = 1,
                  .slots = plan.slots()},
                 pages_.view(), kLayer);
    keys_[s] = KeptRows(heads_, keys_[s]);
    values_[s] = KeptRows(heads_, values_[s]);
  }
}

float Sequences::Scale() const { return 1.0F / std::sqrt(static_cast<float>(heads_.head_dim)); }

Row Sequences::Attend(const Rows& q, std::int32_t rows, std::int64_t window) const {
  std::vector<RowRun> runs;
  for (std::size_t s = 0; s < lengths_.size(); ++s)
    runs.push_back({.first_row = static_cast<std::int32_t>(s) * rows,
                    .rows = rows,
                    .first_position = lengths_[s] - rows,
                    .pages = tables_[s]});
  return Run(q, runs, window);
}

Row Sequences::AttendAlone(const Rows& q, std::int32_t sequence, std::int32_t rows,
                           std::int64_t window) const {
  const RowRun run{.first_row = 0,
                   .rows = rows,
                   .first_position = lengths_[sequence] - rows,
                   .pages = tables_[sequence]};
  return Run({q.begin() + sequence * rows, q.begin() + (sequence + 1) * rows}, std::span(&run, 1),
             window);
}

Row Sequences::Run(const Rows& q, std::span<const RowRun> runs, std::int64_t window) const {
  const DevicePlan plan(runs, heads_.page_size, window);
  const AttentionWork work = plan.work();
  const auto units = static_cast<std::size_t>(work.item_count) * heads_.heads;
  DeviceArray<float> greatest(units);
  DeviceArray<float> sums(units);
  DeviceArray<float> values(units * heads_.head_dim);
  const DeviceArray<float> queries(Flat(q));
  DeviceArray<float> out(queries.size());
  cuda::Attend(nullptr, queries.data(), heads_.heads, Scale(), work, pages_.view(), kLayer,
               {greatest.data(), sums.data(), values.data()}, {out.data(), NumberType::kF32});
  return out.Read();
}

std::vector<double> Sequences::Reference(const Rows& q, std::int32_t rows,
                                         std::int64_t window) const {
  std::vector<double> out;
  for (std::size_t s = 0; s < lengths_.size(); ++s) {
    for (std::int32_t row = 0; row < rows; ++row) {
      const auto of = ReferenceRow(q[s * rows + row], static_cast<std::int32_t>(s),
                                   lengths_[s] - rows + row, window);
      out.insert(out.end(), of.begin(), of.end());
    }
  }
  return out;
}

std::vector<double> Sequences::ReferenceRow(const Row& q, std::int32_t sequence,
                                            std::int32_t position, std::int64_t window) const {
  const std::int64_t first = window == 0 ? 0 : std::max<std::int64_t>(0, position + 1 - window);
  std::vector<double> out;
  for (std::int32_t head = 0; head < heads_.heads; ++head) {
    const std::int32_t kv = head / (heads_.heads / heads_.kv_heads) * heads_.head_dim;
    std::vector<double> weights;
    double greatest = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = first; j <= position; ++j) {
      double score = 0;
      for (std::int32_t d = 0; d < heads_.head_dim; ++d)
        score += static_cast<double>(q[head * heads_.head_dim + d]) * keys_[sequence][j][kv + d];
      weights.push_back(score * Scale());
      greatest = std::max(greatest, weights.back());
    }
    double sum = 0;
    for (double& w : weights) sum += w = std::exp(w - greatest);
    for (std::int32_t d = 0; d < heads_.head_dim; ++d) {
      double value = 0;
      for (std::int64_t j = first; j <= position; ++j)
        value += weights[j - first] * values_[sequence][j][kv + d];
      out.push_back(value / sum);
    }
  }
  return out;
}

}  // namespace banyan::kernels::cuda::testing
