// Every kernel in random orders without a race; and with any one defect planted in it (trial.h) it
// fails, or its result is another: what guards memory and names lanes is needed, and is missed.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/blocks.h"
#include "kernels/cuda/choices.h"
#include "kernels/cuda/emulation/trial.h"
#include "kernels/cuda/observations.h"
#include "kernels/cuda/sampling.h"
#include "kernels/small_floats.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::emulation {

void PrintTo(const Defect& defect, std::ostream* out) {
  constexpr const char* kNames[] = {"no barrier", "no warp barrier", "a short mask", "half masks",
                                    "another lane"};
  *out << kNames[static_cast<std::size_t>(defect.kind)] << " at " << defect.where;
}

}  // namespace banyan::kernels::cuda::emulation

namespace banyan::kernels::cuda::testing {
namespace {

using emulation::Defect;
using emulation::Trial;
using ::testing::IsEmpty;

using Bytes = std::vector<std::byte>;

template <class T>
Bytes BytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Of a launch that returns what it computed: how many __syncthreads it has, and how many other
// places where lanes meet.
struct Places {
  int barriers = 0;
  int meetings = 0;
};

bool IsSeen(const Defect& defect, const Bytes& right, const std::function<Bytes()>& launch) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Trial trial({.seed = seed, .planted = defect});
    const Bytes got = launch();
    if (!trial.failures().empty() || got != right) return true;
  }
  return false;
}

void ExpectDefectsSeen(const Places& places, const std::function<Bytes()>& launch) {
  std::vector<Defect> defects;
  const Bytes right = launch();
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Trial whole({.seed = seed});
    EXPECT_EQ(launch(), right) << "in the order of seed " << seed;
    EXPECT_THAT(whole.failures(), IsEmpty()) << "in the order of seed " << seed;
    defects = whole.defects();
  }
  Places found;
  for (const Defect& defect : defects) {
    found.barriers += defect.kind == Defect::Kind::kNoBarrier ? 1 : 0;
    found.meetings += defect.kind == Defect::Kind::kShortMask ? 1 : 0;
    EXPECT_TRUE(IsSeen(defect, right, launch)) << ::testing::PrintToString(defect);
  }
  EXPECT_EQ(found.barriers, places.barriers);
  EXPECT_EQ(found.meetings, places.meetings);
}

TEST(Defects, OfNorms) {
  const DeviceArray<float> in(Flat(RandomRows(2, 300, 1)));
  const DeviceArray<float> weight(RandomRows(1, 300, 2)[0]);
  DeviceArray<float> out(in.size());
  ExpectDefectsSeen({.barriers = 1, .meetings = 1}, [&] {
    RmsNorm(nullptr, in.data(), nullptr, weight.data(), 1e-5F, 2, 300,
            {out.data(), NumberType::kF32});
    return BytesOf(out.Read());
  });
  ExpectDefectsSeen({.barriers = 1, .meetings = 1}, [&] {
    Fill(out.data(), 0, out.size() * sizeof(float), nullptr);
    RmsNormAdd(nullptr, in.data(), weight.data(), 1e-5F, 2, 300, out.data());
    return BytesOf(out.Read());
  });
  const Rows heads = RandomRows(6, 64, 3);
  ExpectDefectsSeen({.meetings = 1}, [&] {
    DeviceArray<float> x(Flat(heads));
    RmsNormHeads(nullptr, weight.data(), 1e-5F, 6, 64, x.data());
    return BytesOf(x.Read());
  });
}

TEST(Defects, OfGreedySampling) {
  Rows rows = RandomRows(8, 600, 4);
  std::vector<SampleRow> draws;
  for (int row = 0; row < 8; ++row) {
    rows[row][70 * row] = 50.0F;  // in a lane of any kind
    draws.push_back({.row = row, .temperature = 0.0F});
  }
  const DeviceArray<float> logits(Flat(rows));
  const DeviceArray<SampleRow> device_draws(draws);
  DeviceArray<std::int32_t> tokens(8);
  ExpectDefectsSeen({.barriers = 1, .meetings = 2}, [&] {
    Sample(nullptr, {logits.data(), 600}, device_draws.data(), 8, {}, nullptr, tokens.data());
    return BytesOf(tokens.Read());
  });
}

// Rows of every kind of draw; the first one's greedy, its lists of tokens that other threads wrote.
TEST(Defects, OfSampling) {
  constexpr int kVocabulary = 1600;
  constexpr int kRows = 12;
  Rows logits = RandomRows(kRows, kVocabulary, 11);
  logits[0][1] = 60.0F;
  const std::vector<TokenBias> biases = {{300, 50.0F}, {301, 4.0F}, {7, 9.0F}, {1, 2.0F}};
  const std::vector<TokenUse> uses = {{7, 1}, {300, 2}, {301, 0}, {1, 4}, {2, 1}};
  std::vector<SampleRow> rows(kRows);
  rows[0] = {.temperature = 0.0F,
             .repetition = 1.5F,
             .frequency = 20.0F,
             .biases = {0, 4},
             .uses = {0, 5}};
  for (int row = 1; row < kRows; ++row) {
    rows[row].row = row;
    rows[row].uniform = 0.08 * row;
    rows[row].temperature = 0.5F + 0.2F * static_cast<float>(row);
    if (row % 4 == 1 || row % 4 == 2) rows[row].top_k = 40 * row;
    if (row % 4 == 2 || row % 4 == 3) rows[row].top_p = 0.9F;
  }
  const DeviceArray<float> device_logits(Flat(logits));
  const DeviceArray<SampleRow> device_rows(rows);
  const DeviceArray<TokenBias> device_biases(biases);
  const DeviceArray<TokenUse> device_uses(uses);
  ExpectDefectsSeen({.barriers = 10, .meetings = 5}, [&] {
    DeviceArray<float> adjusted(device_logits.size());
    DeviceArray<std::int32_t> tokens(kRows);
    Sample(nullptr, {device_logits.data(), kVocabulary}, device_rows.data(), kRows,
           {.biases = device_biases.data(), .uses = device_uses.data()}, adjusted.data(),
           tokens.data());
    Bytes out = BytesOf(adjusted.Read());
    const Bytes drawn = BytesOf(tokens.Read());
    out.insert(out.end(), drawn.begin(), drawn.end());
    return out;
  });
}

// Of the last row a logit is not finite.
TEST(Defects, OfLogProbabilities) {
  constexpr int kRows = 9;
  Rows rows = RandomRows(kRows, 600, 12);
  for (int row = 0; row < 8; ++row) rows[row][1 << row] = 200.0F;  // far above all others
  rows[8][77] = INFINITY;
  const std::vector<std::int32_t> tokens = {0, 5, 77, 300, 301, 510, 4, 9, 0};
  std::vector<ScoreRow> scores;
  for (int row = 0; row < kRows; ++row) scores.push_back({row, tokens[row], 6});
  const DeviceArray<float> logits(Flat(rows));
  const DeviceArray<ScoreRow> device_scores(scores);
  ExpectDefectsSeen({.barriers = 8, .meetings = 3}, [&] {
    DeviceArray<float> of_tokens(kRows);
    DeviceArray<std::int32_t> top(kRows * ScoreRow::kMostTop);
    DeviceArray<float> of_top(top.size());
    LogProbabilities(nullptr, {logits.data(), 600}, device_scores.data(), kRows, nullptr,
                     {of_tokens.data(), top.data(), of_top.data()});
    Bytes out = BytesOf(of_tokens.Read());
    for (const Bytes& more : {BytesOf(top.Read()), BytesOf(of_top.Read())})
      out.insert(out.end(), more.begin(), more.end());
    return out;
  });
}

TEST(Defects, OfProductsWithBlocks) {
  const kernels::testing::RandomMatrix host(DType::kQ4_K, 6, 512, 13);
  const std::int64_t bytes = 6 * 512 / 256 * ShapeOf(DType::kQ4_K).bytes;
  const DeviceArray<std::byte> w(Bytes(host.host().data, host.host().data + bytes));
  const DeviceArray<float> x(Flat(RandomRows(2, 512, 14)));
  ExpectDefectsSeen({.meetings = 1}, [&] {
    DeviceArray<float> y(12);
    MultiplyBlocks(nullptr, {.weights = {DType::kQ4_K, w.data(), 6, 512},
                             .x = {x.data(), NumberType::kF32},
                             .rows = 2,
                             .y = y.data()});
    return BytesOf(y.Read());
  });
}

// Two blocks of keys, of which the second is mostly seen by some rows only, a value there that is
// not finite, and rows that attend chunk by chunk or whole.
TEST(Defects, OfAttention) {
  const Heads h{2, 1, 16, 16, KvFormat::kInt8};
  const Sequences sequences(h, {48}, 5, 44);
  const Rows q = RandomRows(16, 2 * 16, 6);
  for (const std::int32_t whole_blocks : {0, 1000}) {
    ExpectDefectsSeen({.barriers = 3, .meetings = 9}, [&] {
      return BytesOf(sequences.Attend(q, {.rows = 16, .rules = {.whole_blocks = whole_blocks}}));
    });
  }
}

// Pages of one slot each, of one head.
std::unique_ptr<Pages> StoredPages(const Heads& h, const Rows& k, const Rows& v) {
  auto pages = std::make_unique<Pages>(h, 1, static_cast<std::int32_t>(k.size()));
  std::vector<TokenPlace> places;
  for (std::size_t i = 0; i < k.size(); ++i) places.push_back({static_cast<std::int32_t>(i), 0});
  const DeviceArray<TokenPlace> device_places(places);
  DeviceArray<float> q(Flat(k));
  DeviceArray<float> device_k(Flat(k));
  const DeviceArray<float> device_v(Flat(v));
  RopeAndStore(nullptr,
               {.q = q.data(),
                .k = device_k.data(),
                .v = device_v.data(),
                .rows = static_cast<std::int32_t>(k.size()),
                .heads = 1,
                .places = device_places.data()},
               {pages->view()}, 0);
  return pages;
}

// Bounds of pages of one slot each, of which two have numbers that are not finite, in either half
// of a head.
TEST(Defects, OfKeyBounds) {
  const Heads h{1, 1, 256, 1};
  Rows k = RandomRows(4, 256, 15);
  k[1][200] = INFINITY;
  k[2][5] = INFINITY;
  const auto pages = StoredPages(h, k, k);
  const DeviceArray<std::int32_t> which(std::vector<std::int32_t>{3, 1, 2});
  DeviceArray<std::uint16_t> bounds(4 * 2 * 256);
  ExpectDefectsSeen({.meetings = 1}, [&] {
    ReadKeyBounds(nullptr, which.data(), 3, pages->view(), 0, 1,
                  {reinterpret_cast<Bf16*>(bounds.data()), 4, 1, 256});
    return BytesOf(bounds.Read());
  });
}

// A row that chooses among more pages than a block has threads, and one that reads its newest only.
TEST(Defects, OfChoices) {
  constexpr int kPages = 600;
  Rows bounds = RandomRows(2 * kPages, 2 * 8, 16);
  DeviceArray<std::uint16_t> numbers(2 * kPages * 2 * 8);
  std::vector<std::uint16_t> rounded;
  for (const Row& row : bounds)
    for (const float x : row) rounded.push_back(FloatToBf16(x));
  CopyToDevice(numbers.data(), rounded.data(), rounded.size() * 2, nullptr);
  const DeviceArray<float> q(Flat(RandomRows(2, 4 * 8, 17)));
  std::vector<std::int32_t> table(kPages);
  std::iota(table.rbegin(), table.rend(), 0);
  table.resize(kPages + 2 * (300 + 2), -1);
  const DeviceArray<ChoosingRow> rows(std::vector<ChoosingRow>{
      {.row = 1, .old = kPages - 2, .chosen = 300, .newest = 2, .read_page = kPages},
      {.row = 0,
       .old = 9,
       .chosen = 0,
       .newest = 1,
       .read_page = kPages + 2 * 302,
       .score = 2 * (kPages - 2)}});
  table.resize(table.size() + 2, -1);
  ExpectDefectsSeen({.barriers = 5, .meetings = 2}, [&] {
    DeviceArray<std::int32_t> tables(table);
    DeviceArray<float> scores(2 * (kPages - 2) + 2 * 9);
    ChoosePages(nullptr,
                {.q = q.data(),
                 .heads = 4,
                 .rows = rows.data(),
                 .count = 2,
                 .most_old = kPages - 2,
                 .tables = tables.data(),
                 .scores = scores.data()},
                {reinterpret_cast<Bf16*>(numbers.data()), kPages, 2, 8}, 0);
    Bytes out = BytesOf(tables.Read());
    const Bytes scored = BytesOf(scores.Read());
    out.insert(out.end(), scored.begin(), scored.end());
    return out;
  });
}

// Two rows of two heads, of which the second sees a slot more.
TEST(Defects, OfObservations) {
  constexpr int kSlots = 21;
  const Heads h{2, 1, 16, 1};
  const auto pages = StoredPages(h, RandomRows(kSlots, 16, 18), RandomRows(kSlots, 16, 19));
  const DeviceArray<float> q(Flat(RandomRows(2, 2 * 16, 20)));
  std::vector<std::int32_t> table(kSlots);
  std::iota(table.begin(), table.end(), 0);
  const DeviceArray<std::int32_t> tables(table);
  const DeviceArray<ObservedRows> rows(
      std::vector<ObservedRows>{{.rows = 2, .first_slot = kSlots - 2, .width = 24}});
  ExpectDefectsSeen({.meetings = 1}, [&] {
    DeviceArray<float> notes(kSlots);
    const DeviceArray<NotedRun> runs(
        std::vector<NotedRun>{{.notes = {notes.data(), kSlots}, .count = 1}});
    DeviceArray<float> scores(2 * 2 * 24);
    DeviceArray<float> shares(2 * 2);
    Observe(nullptr,
            {.q = q.data(),
             .heads = 2,
             .tables = tables.data(),
             .rows = rows.data(),
             .runs = runs.data(),
             .count = 1,
             .run_count = 1,
             .most_slots = kSlots,
             .scores = scores.data(),
             .shares = shares.data()},
            pages->view(), 0);
    return BytesOf(notes.Read());
  });
}

// Of more slots than a block has threads, and in place.
TEST(Defects, OfCompactions) {
  constexpr int kSlots = 600;
  constexpr int kKept = 400;
  const Heads h{1, 1, 16, 1};
  const Rows k = RandomRows(kSlots, 16, 21);
  const auto stored = StoredPages(h, k, k);
  std::vector<std::int32_t> table(kSlots);
  std::iota(table.begin(), table.end(), 0);
  const DeviceArray<std::int32_t> tables(table);
  Row importance = RandomRows(1, kSlots, 22)[0];
  for (float& x : importance) x = std::fabs(x);
  const CompactionStep step{.from = tables.data(),
                            .to = tables.data(),
                            .slots = kSlots,
                            .keep = {.budget = kKept, .recent = 40, .sinks = 3, .pooled = 3}};
  DeviceArray<std::int32_t> survivors(kKept);
  ExpectDefectsSeen({.barriers = 5, .meetings = 1}, [&] {
    DeviceArray<float> notes(importance);
    DeviceArray<float> pooled(kSlots);
    Fill(survivors.data(), 0xff, kKept * sizeof(std::int32_t), nullptr);
    CompactionStep listed = step;
    listed.notes = {notes.data(), kSlots};
    listed.pooled = pooled.data();
    listed.survivors = survivors.data();
    ListSurvivors(nullptr, listed, stored->view());
    return BytesOf(survivors.Read());
  });
  std::iota(table.begin(), table.end(), kSlots - kKept);
  DeviceArray<std::int32_t> last(table);
  ExpectDefectsSeen({.barriers = 1}, [&] {
    DeviceArray<float> notes(importance);
    DeviceArray<std::byte> memory(stored->Read());
    PageView pages = stored->view();
    pages.memory = memory.data();
    CompactionStep moved = step;
    moved.notes = {notes.data(), kSlots};
    moved.survivors = last.data();
    MoveSurvivors(nullptr, moved, pages);
    Bytes out = BytesOf(notes.Read());
    const Bytes kept = memory.Read();
    out.insert(out.end(), kept.begin(), kept.end());
    return out;
  });
}

// A step of two rows, one of which has a value that is not finite, into pages of their own.
Bytes RopeAndStored(const Heads& h, std::int32_t page_off) {
  const std::int32_t dims = h.head_dim;
  Rows v = RandomRows(2, h.kv_heads * dims, 9);
  v[1][20] = INFINITY;
  const Rope rope{.dims = dims, .base = 100.0F, .pairs = h.pairs};
  const DeviceArray<std::int32_t> positions(std::vector<std::int32_t>{3, 50});
  const DeviceArray<float> angles = AnglesOf(rope, positions);
  DeviceArray<float> q(Flat(RandomRows(2, h.heads * dims, 7)));
  DeviceArray<float> k(Flat(RandomRows(2, h.kv_heads * dims, 8)));
  const DeviceArray<float> device_v(Flat(v));
  const DeviceArray<TokenPlace> places(std::vector<TokenPlace>{{page_off, 1}, {page_off + 1, 0}});
  const Pages pages(h, 1, 3);
  RopeAndStore(nullptr,
               {q.data(), k.data(), device_v.data(), 2, h.heads, angles.data(), dims, h.pairs,
                places.data()},
               {pages.view()}, 0);
  Bytes out = BytesOf(q.Read());
  const Bytes stored = pages.Read();
  out.insert(out.end(), stored.begin(), stored.end());
  return out;
}

TEST(Defects, OfRopeAndPages) {
  for (const KvFormat format : kPageFormats) {
    const Heads h{1, 2, 64, 16, format, RopePairs::kNeighbours};
    // Of fp8 and int8 the transform and the greatest magnitude, too.
    ExpectDefectsSeen({.meetings = SpreadsKeys(format) ? 3 : 1},
                      [&] { return RopeAndStored(h, 0); });
    EXPECT_NE(RopeAndStored(h, 0), RopeAndStored(h, 1)) << "a page that is one off";
  }
}

TEST(Defects, OfQueriesTurnedForSinks) {
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kInt8}) {
    const Heads h{2, 1, 64, 16, format, RopePairs::kNeighbours};
    const Rope rope{.dims = 64, .base = 100.0F, .pairs = h.pairs};
    const std::vector<std::int32_t> table(4, 0);
    const RowRun run{
        .rows = 2, .first_position = 30, .pages = table, .window = {.window = 9, .sinks = 2}};
    const DevicePlan plan({&run, 1}, h, 0);
    const DeviceArray<float> q(Flat(RandomRows(2, 2 * 64, 10)));
    DeviceArray<float> out(q.size());
    ExpectDefectsSeen({.meetings = SpreadsKeys(format) ? 3 : 1}, [&] {
      plan.TurnForSinks(q.data(), h, rope, out.data());
      return BytesOf(out.Read());
    });
  }
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
