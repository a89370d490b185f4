// Pages on the device, sequences in them, and attention in double precision, for tests of kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_plan.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/pages.h"
#include "tests/cuda/device_array.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::cuda::testing {

using kernels::testing::RandomRows;
using kernels::testing::Row;
using kernels::testing::Rows;

Row Flat(const Rows& rows);
Rows Unflat(const Row& values, std::int64_t cols);

struct Heads {
  std::int32_t heads = 1;
  std::int32_t kv_heads = 1;
  std::int32_t head_dim = 8;
  std::int32_t page_size = 16;
  KvFormat format = KvFormat::kF16;
  RopePairs pairs = RopePairs::kHalves;  // of queries that are turned for sinks
};

// A device's page store, whose bytes are 0xff where nothing was written: NaN in every format.
class Pages {
 public:
  Pages(const Heads& heads, std::int32_t layers, std::int32_t count);
  const PageView& view() const { return view_; }
  std::vector<std::byte> Read() const { return memory_->Read(); }

 private:
  std::unique_ptr<DeviceArray<std::byte>> memory_;
  PageView view_;
};

// The plan of a step in device memory.
class DevicePlan {
 public:
  DevicePlan(std::span<const RowRun> runs, const Heads& heads, std::int64_t window,
             const TileRules& rules = {});
  const AttentionPlan& host() const { return host_; }
  AttentionWork work() const;
  const TokenPlace* places() const { return places_.data(); }
  // The queries of rows that see sinks as these meet them, where there are any.
  void TurnForSinks(const float* q, const Heads& heads, const Rope& rope, float* out) const;

 private:
  explicit DevicePlan(AttentionPlan plan);
  AttentionPlan host_;
  DeviceArray<AttentionTile> tiles_;
  DeviceArray<AttentionTileRow> tile_rows_;
  DeviceArray<AttentionRow> rows_;
  DeviceArray<std::int32_t> first_item_;
  DeviceArray<std::int32_t> tables_;
  DeviceArray<TokenPlace> places_;
  DeviceArray<std::int32_t> sink_rows_;
  DeviceArray<std::int32_t> sink_turns_;
};

// A head in double precision, turned by so many positions.
std::vector<double> Turned(std::span<const float> head, const Rope& rope, double positions);
// RopeAngles' of positions.
DeviceArray<float> AnglesOf(const Rope& rope, const DeviceArray<std::int32_t>& positions);

// Who attends, and to what: of every sequence the last rows, but for `behind` ones.
struct Asked {
  std::int32_t rows = 1;
  std::int32_t behind = 0;
  std::int64_t window = 0;  // of the layer
  KeyWindow own{};          // of the sequences
  // kSeen: pages of which no row sees a key are not in the tables.
  enum class Pages : std::uint8_t { kAll, kSeen } pages = Pages::kAll;
  TileRules rules{};
};

// How far attention may be from double precision where queries and keys are about 1 and so are
// scores: of a query and of a weight half a step of f16 (2^-11) or bf16 (2^-8) is lost.
double AttentionBound(KvFormat format);

// Sequences of these lengths with random keys and values, written to pages in random places.
class Sequences {
 public:
  // Of every head's value at the position `infinite`, if it is one, a number is infinite.
  Sequences(const Heads& heads, const std::vector<std::int32_t>& lengths, std::uint32_t seed,
            std::int32_t infinite = -1);
  // From now on all begin with the first's pages, so many of them.
  void ShareFirstPages(std::int32_t count);

  // `q` is a row for each that attends: [rows, heads * dim].
  Row Attend(const Rows& q, const Asked& asked) const;
  // The same for one sequence alone, whose rows' `q` is.
  Row AttendAlone(const Rows& q, std::int32_t sequence, const Asked& asked) const;
  // The same in double precision, of the numbers that pages keep.
  std::vector<double> Reference(const Rows& q, const Asked& asked) const;

  float Scale() const;
  std::vector<std::int32_t>& table(std::int32_t sequence) { return tables_[sequence]; }

 private:
  static constexpr std::int32_t kLayer = 1;
  void Store();
  // Of one sequence; its table is in `table`.
  RowRun RunOf(std::int32_t sequence, const Asked& asked, std::vector<std::int32_t>& table) const;
  Row Run(const Rows& q, std::span<const RowRun> runs, const Asked& asked) const;
  std::vector<double> ReferenceRow(const Row& q, std::int32_t sequence, std::int32_t position,
                                   const Asked& asked) const;

  Heads heads_;
  Rope rope_;  // by which queries are turned for sinks
  std::vector<std::int32_t> lengths_;
  std::vector<std::vector<std::int32_t>> tables_;
  std::vector<Rows> keys_;  // by sequence and position, as pages keep them
  std::vector<Rows> values_;
  Pages pages_;
};

}  // namespace banyan::kernels::cuda::testing
