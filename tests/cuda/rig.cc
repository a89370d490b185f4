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

AttentionPlan Made(std::span<const RowRun> runs, const Heads& heads, std::int64_t window,
                   const TileRules& rules) {
  AttentionPlan plan;
  const KvShape shape{
      .kv_heads = heads.kv_heads, .head_dim = heads.head_dim, .page_size = heads.page_size};
  plan.Make(runs, shape, window, heads.heads, 0, rules);
  return plan;
}

std::int32_t CountPages(const Heads& heads, const std::vector<std::int32_t>& lengths) {
  std::int32_t count = 0;
  for (const std::int32_t length : lengths) count += PagesOf(length, heads.page_size);
  return count;
}

// Every run of head_dim values of every row as `of` makes it.
template <class Of>
Rows EachHead(const Heads& heads, Rows rows, const Of& of) {
  for (Row& row : rows) {
    for (std::size_t at = 0; at < row.size(); at += heads.head_dim) {
      const Row made = of(heads.format, std::span(row).subspan(at, heads.head_dim));
      std::ranges::copy(made, row.begin() + static_cast<std::ptrdiff_t>(at));
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

DevicePlan::DevicePlan(std::span<const RowRun> runs, const Heads& heads, std::int64_t window,
                       const TileRules& rules)
    : DevicePlan(Made(runs, heads, window, rules)) {}

DevicePlan::DevicePlan(AttentionPlan plan)
    : host_(std::move(plan)),
      tiles_(host_.tiles),
      tile_rows_(host_.tile_rows),
      rows_(host_.rows),
      first_item_(host_.first_item),
      tables_(host_.tables),
      places_(host_.places),
      sink_rows_(host_.sink_rows),
      sink_turns_(host_.sink_turns) {}

AttentionWork DevicePlan::work() const {
  return {.tiles = tiles_.data(),
          .tile_rows = tile_rows_.data(),
          .row_keys = rows_.data(),
          .first_item = first_item_.data(),
          .tables = tables_.data()};
}

std::vector<double> Turned(std::span<const float> head, const Rope& rope, double positions) {
  std::vector<double> out(head.begin(), head.end());
  const bool halves = rope.pairs == RopePairs::kHalves;
  for (std::int32_t pair = 0; pair < rope.dims / 2; ++pair) {
    const std::int32_t a = halves ? pair : 2 * pair;
    const std::int32_t b = halves ? pair + rope.dims / 2 : 2 * pair + 1;
    const double angle =
        positions * std::pow(static_cast<double>(rope.base), -2.0 * pair / rope.dims);
    out[a] = head[a] * std::cos(angle) - head[b] * std::sin(angle);
    out[b] = head[a] * std::sin(angle) + head[b] * std::cos(angle);
  }
  return out;
}

DeviceArray<float> AnglesOf(const Rope& rope, const DeviceArray<std::int32_t>& positions) {
  std::vector<double> frequencies;
  for (std::int32_t pair = 0; pair < rope.dims / 2; ++pair)
    frequencies.push_back(std::pow(static_cast<double>(rope.base), -2.0 * pair / rope.dims));
  const DeviceArray<double> device_frequencies(frequencies);
  DeviceArray<float> angles(positions.size() * static_cast<std::size_t>(rope.dims));
  RopeAngles(nullptr, positions.data(), device_frequencies.data(),
             static_cast<std::int32_t>(positions.size()), rope.dims / 2, angles.data());
  return angles;
}

void DevicePlan::TurnForSinks(const float* q, const Heads& heads, const Rope& rope,
                              float* out) const {
  const DeviceArray<float> angles = AnglesOf(rope, sink_turns_);
  cuda::TurnForSinks(nullptr,
                     {.q = q,
                      .heads = heads.heads,
                      .head_dim = heads.head_dim,
                      .format = heads.format,
                      .rows = sink_rows_.data(),
                      .count = static_cast<std::int32_t>(sink_rows_.size()),
                      .angles = angles.data(),
                      .dims = rope.dims,
                      .pairs = rope.pairs},
                     out);
}

double AttentionBound(KvFormat format) { return format == KvFormat::kBf16 ? 2e-2 : 2.5e-3; }

Sequences::Sequences(const Heads& heads, const std::vector<std::int32_t>& lengths,
                     std::uint32_t seed, std::int32_t infinite)
    : heads_(heads),
      rope_{.dims = heads.head_dim / 2, .base = 100.0F, .pairs = heads.pairs},
      lengths_(lengths),
      pages_(heads, 2, CountPages(heads, lengths)) {
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
    if (infinite < 0 || infinite >= length) continue;
    for (std::int32_t head = 0; head < heads.kv_heads; ++head)
      values_.back()[infinite][head * heads.head_dim + 3] = INFINITY;
  }
  Store();
}

void Sequences::Store() {
  for (std::size_t s = 0; s < lengths_.size(); ++s) {
    const RowRun run{.first_row = 0, .rows = lengths_[s], .first_position = 0, .pages = tables_[s]};
    const DevicePlan plan(std::span(&run, 1), heads_, 0);
    DeviceArray<float> k(Flat(keys_[s]));
    DeviceArray<float> v(Flat(values_[s]));
    DeviceArray<float> q(Row(static_cast<std::size_t>(lengths_[s]) * heads_.head_dim, 0.0F));
    RopeAndStore(nullptr,
                 {.q = q.data(),
                  .k = k.data(),
                  .v = v.data(),
                  .rows = lengths_[s],
                  .heads = 1,
                  .places = plan.places()},
                 {pages_.view()}, kLayer);
    keys_[s] = EachHead(heads_, keys_[s], kernels::testing::KeptKey);
    values_[s] = EachHead(heads_, values_[s], kernels::testing::Kept);
  }
}

void Sequences::ShareFirstPages(std::int32_t count) {
  for (std::size_t s = 1; s < tables_.size(); ++s) {
    const auto take = [&](auto& all, std::int64_t first) {
      std::copy_n(all[0].begin(), first, all[s].begin());
    };
    take(tables_, count);
    take(keys_, std::int64_t{count} * heads_.page_size);
    take(values_, std::int64_t{count} * heads_.page_size);
  }
}

float Sequences::Scale() const { return 1.0F / std::sqrt(static_cast<float>(heads_.head_dim)); }

RowRun Sequences::RunOf(std::int32_t sequence, const Asked& asked,
                        std::vector<std::int32_t>& table) const {
  table = tables_[sequence];
  RowRun run{.rows = asked.rows,
             .first_position = lengths_[sequence] - asked.behind - asked.rows,
             .pages = table,
             .window = asked.own};
  if (asked.pages == Asked::Pages::kSeen && asked.own.cuts(run.first_position)) {
    const std::int64_t front = PagesOf(asked.own.sinks, heads_.page_size);
    const std::int64_t behind = asked.own.first_key(run.first_position) / heads_.page_size;
    if (front < behind) {
      table.erase(table.begin() + front, table.begin() + behind);
      run.front_pages = front;
      run.dropped_pages = behind - front;
    }
  }
  run.pages = table;
  return run;
}

Row Sequences::Attend(const Rows& q, const Asked& asked) const {
  std::vector<std::vector<std::int32_t>> tables(lengths_.size());
  std::vector<RowRun> runs;
  for (std::size_t s = 0; s < lengths_.size(); ++s) {
    runs.push_back(RunOf(static_cast<std::int32_t>(s), asked, tables[s]));
    runs.back().first_row = static_cast<std::int32_t>(s) * asked.rows;
  }
  return Run(q, runs, asked);
}

Row Sequences::AttendAlone(const Rows& q, std::int32_t sequence, const Asked& asked) const {
  std::vector<std::int32_t> table;
  const RowRun run = RunOf(sequence, asked, table);
  return Run(q, std::span(&run, 1), asked);
}

Row Sequences::Run(const Rows& q, std::span<const RowRun> runs, const Asked& asked) const {
  const DevicePlan plan(runs, heads_, asked.window, asked.rules);
  const DeviceArray<float> queries(Flat(EachHead(heads_, q, kernels::testing::InKeyBasis)));
  DeviceArray<float> sinks_q(queries.size());
  plan.TurnForSinks(queries.data(), heads_, rope_, sinks_q.data());
  DeviceArray<float> out(queries.size());
  for (const AttentionPart& part : plan.host().parts) {
    const auto units = static_cast<std::size_t>(part.items) * heads_.heads;
    DeviceArray<float> greatest(units);
    DeviceArray<float> sums(units);
    DeviceArray<float> values(units * heads_.head_dim);
    cuda::Attend(nullptr, {queries.data(), sinks_q.data(), heads_.heads, Scale()}, plan.work(),
                 part, {pages_.view()}, kLayer, {greatest.data(), sums.data(), values.data()},
                 {out.data(), NumberType::kF32});
  }
  return out.Read();
}

std::vector<double> Sequences::Reference(const Rows& q, const Asked& asked) const {
  std::vector<double> out;
  for (std::size_t s = 0; s < lengths_.size(); ++s) {
    for (std::int32_t row = 0; row < asked.rows; ++row) {
      const auto of = ReferenceRow(q[s * asked.rows + row], static_cast<std::int32_t>(s),
                                   lengths_[s] - asked.behind - asked.rows + row, asked);
      out.insert(out.end(), of.begin(), of.end());
    }
  }
  return out;
}

std::vector<double> Sequences::ReferenceRow(const Row& q, std::int32_t sequence,
                                            std::int32_t position, const Asked& asked) const {
  const std::int64_t window = std::max(asked.window, asked.own.window);
  const std::int64_t capacity = window + asked.own.sinks;
  const bool cut = window > 0 && position >= capacity;
  std::vector<std::int64_t> seen(cut ? static_cast<std::size_t>(asked.own.sinks) : 0);
  std::iota(seen.begin(), seen.end(), 0);
  const std::size_t sinks = seen.size();
  for (std::int64_t j = cut ? position + 1 - window : 0; j <= position; ++j) seen.push_back(j);
  std::vector<double> out;
  for (std::int32_t head = 0; head < heads_.heads; ++head) {
    const std::int32_t kv = head / (heads_.heads / heads_.kv_heads) * heads_.head_dim;
    const auto own = std::span(q).subspan(head * heads_.head_dim, heads_.head_dim);
    const std::vector<double> to_window(own.begin(), own.end());
    const std::vector<double> to_sinks =
        Turned(own, rope_, static_cast<double>(capacity - 1 - position));
    std::vector<double> weights;
    double greatest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::vector<double>& met = i < sinks ? to_sinks : to_window;
      const double score =
          std::inner_product(met.begin(), met.end(), keys_[sequence][seen[i]].begin() + kv, 0.0);
      weights.push_back(score * Scale());
      greatest = std::max(greatest, weights.back());
    }
    double sum = 0;
    for (double& w : weights) sum += w = std::exp(w - greatest);
    for (std::int32_t d = 0; d < heads_.head_dim; ++d) {
      double value = 0;
      for (std::size_t i = 0; i < seen.size(); ++i)
        value += weights[i] * values_[sequence][seen[i]][kv + d];
      out.push_back(value / sum);
    }
  }
  return out;
}

}  // namespace banyan::kernels::cuda::testing
