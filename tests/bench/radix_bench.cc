// The tree of prefixes alone, over sizes. `ns/op` is what one operation costs; names end in the
// arguments. Pages have 16 tokens unless an argument says otherwise.

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "benchmark/benchmark.h"
#include "radix/prefix_cache.h"
#include "tests/bench/forest.h"
#include "tests/bench/stopwatch.h"

namespace banyan::bench {
namespace {

using benchmark::Counter;
using radix::View;

constexpr std::int32_t kPageSize = 16;

// Match, pin, page table, unpin. (tokens, page size, different prefixes in turn)
void Match(benchmark::State& state) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const auto page_size = static_cast<std::int32_t>(state.range(1));
  const auto prefixes = static_cast<std::int32_t>(state.range(2));
  const Shape shape{.own = static_cast<std::int32_t>(tokens) / page_size, .turn = 64};
  Forest forest(shape, page_size, prefixes * shape.own, 0);
  std::vector<std::vector<TokenId>> texts;
  for (std::size_t i = 0; i < forest.paths(); ++i) texts.push_back(forest.Path(i));
  std::size_t next = 0;
  for (auto _ : state) {
    const std::vector<TokenId>& text = texts[next];
    next = next + 1 == texts.size() ? 0 : next + 1;
    const View view =
        forest.cache().Open(forest.name_space(), text, static_cast<std::int64_t>(text.size()));
    benchmark::DoNotOptimize(view.page_table().data());
    CHECK(view.tokens() == static_cast<std::int64_t>(text.size()));
  }
  const auto matched = static_cast<double>(shape.own * page_size);
  state.counters["tok/s"] = Counter(matched, Counter::kIsIterationInvariantRate);
}
BENCHMARK(Match)
    ->ArgsProduct({{1024, 4096, 16'384, 100'000}, {kPageSize}, {1, 64}})
    ->Args({100'000, 1, 1});

// Conversations of 16 families go on turn by turn, in no order: each turn is a prompt that is
// matched and pinned, 128 tokens that are computed, and the end of its request.
// (conversations, turns of each)
void Conversations(benchmark::State& state) {
  constexpr Shape kShape{.families = 16, .shared = 32, .own = 1, .turn = 8};
  constexpr std::size_t kTurn = 128;
  const auto conversations = static_cast<std::size_t>(state.range(0));
  const auto turns = static_cast<std::size_t>(state.range(1));
  Stopwatch watch(state);
  for (auto _ : state) {
    Forest forest(kShape, kPageSize, 16 * 33,
                  static_cast<std::int32_t>(conversations * turns * kTurn / kPageSize));
    std::vector<std::vector<TokenId>> texts;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < conversations; ++i) {
      texts.push_back(Joined(forest.Family(i),
                             forest.NewText(static_cast<std::int32_t>(turns * kTurn / kPageSize))));
      order.insert(order.end(), turns, i);
    }
    std::shuffle(order.begin(), order.end(), std::mt19937_64(5));
    std::vector<std::size_t> lengths(conversations, forest.Family(0).size());
    watch.Timed(order.size(), [&] {
      for (const std::size_t i : order) {
        lengths[i] += kTurn;
        forest.Add(std::span(texts[i]).first(lengths[i]));
      }
    });
  }
}
BENCHMARK(Conversations)->Args({256, 32})->Iterations(4)->UseManualTime();

// The sizes of trees, in pages.
void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({1000})->Args({10'000})->Args({100'000})->Args({1'000'000});
  benchmark->Iterations(16)->UseManualTime();
}

std::size_t BatchOf(std::int64_t pages) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(pages / 8, 64, 1024));
}

// A page takes its place in the tree, through a view that is open there: what a step pays when one
// is full. Wide: one more child of the root. Deep: the end of a conversation. Mix: at some turn of
// one, which forks. (pages in the tree)
void Insert(benchmark::State& state, const Shape& shape) {
  const auto pages = static_cast<std::int32_t>(state.range(0));
  const std::size_t batch = BatchOf(pages);
  Forest forest(shape, kPageSize, pages, static_cast<std::int32_t>(batch));
  std::mt19937_64 random(3);
  Stopwatch watch(state);
  for (auto _ : state) {
    forest.MakeFree(static_cast<std::int64_t>(batch));
    std::deque<View> views;
    std::vector<std::vector<TokenId>> texts;
    for (std::size_t i = 0; i < batch; ++i) {
      const std::vector<TokenId> path = forest.Path(random() % forest.paths());
      std::size_t length = path.size();
      if (shape.shared > 0) length -= forest.PageTokens(shape.turn) * (random() % 4);
      if (shape.own == 1) length = 0;
      // Some of it may have been evicted.
      const auto known = static_cast<std::size_t>(
          forest.cache().MatchLength(forest.name_space(), std::span(path).first(length)));
      views.push_back(forest.Open(std::span(path).first(known - known % kPageSize)));
      texts.push_back(forest.NewText(1));
    }
    watch.Timed(batch, [&] {
      for (std::size_t i = 0; i < batch; ++i) {
        CHECK(forest.cache().Grow(views[i], 1));
        if (forest.cache().PendingCopy(views[i])) forest.cache().CopyDone(views[i]);
        forest.cache().Append(views[i], texts[i]);
      }
    });
  }
}
BENCHMARK_CAPTURE(Insert, wide, kWide)->Apply(Sizes);
BENCHMARK_CAPTURE(Insert, deep, kDeep)->Apply(Sizes);
BENCHMARK_CAPTURE(Insert, mix, kMix)->Apply(Sizes);

// A page is wanted, none is free, and the least recently used one is given. (pages in the tree)
void Evict(benchmark::State& state, const Shape& shape) {
  const auto pages = static_cast<std::int32_t>(state.range(0));
  const std::size_t batch = BatchOf(pages);
  Forest forest(shape, kPageSize, pages, 0);
  const std::int64_t taken =
      forest.cache().stats().pages[static_cast<int>(radix::PageState::kTree)];
  Stopwatch watch(state);
  std::int32_t free = pages - static_cast<std::int32_t>(taken);
  for (auto _ : state) {
    View view = forest.Open({});
    CHECK(forest.cache().Grow(view, free));
    watch.Timed(batch, [&] {
      for (std::size_t i = 0; i < batch; ++i) CHECK(forest.cache().Grow(view, 1));
    });
    forest.cache().Close(view, radix::PrefixCache::Tail::kDiscard);
    // As many pages enter as left.
    free += static_cast<std::int32_t>(batch);
    for (; free >= shape.own; free -= shape.own) {
      forest.Add(Joined(forest.Family(static_cast<std::size_t>(free)), forest.NewText(shape.own)));
    }
  }
}
BENCHMARK_CAPTURE(Evict, wide, kWide)->Apply(Sizes);
BENCHMARK_CAPTURE(Evict, deep, kDeep)->Apply(Sizes);
BENCHMARK_CAPTURE(Evict, mix, kMix)->Apply(Sizes);

// A prompt ends within an edge of 16 pages, which is cut there: its view is opened and closed. The
// path above the edge (32 pages in the mix) is matched too. (pages in the tree)
void Split(benchmark::State& state, const Shape& shape) {
  constexpr std::int32_t kEdge = 16;
  const auto pages = static_cast<std::int32_t>(state.range(0));
  const std::size_t batch = BatchOf(pages) / kEdge;
  Forest forest(shape, kPageSize, pages, static_cast<std::int32_t>(batch) * kEdge);
  Stopwatch watch(state);
  for (auto _ : state) {
    forest.MakeFree(static_cast<std::int64_t>(batch) * kEdge);
    std::vector<std::vector<TokenId>> prompts;
    for (std::size_t i = 0; i < batch; ++i) {
      std::vector<TokenId> path = Joined(forest.Family(i), forest.NewText(kEdge));
      forest.Add(path);
      path.resize(path.size() - forest.PageTokens(kEdge / 2));
      prompts.push_back(std::move(path));
    }
    const std::int64_t before = forest.cache().stats().nodes;
    watch.Timed(batch, [&] {
      for (const std::vector<TokenId>& prompt : prompts) forest.Open(prompt);
    });
    CHECK(forest.cache().stats().nodes == before + static_cast<std::int64_t>(batch));
  }
}
BENCHMARK_CAPTURE(Split, wide, kWide)->Apply(Sizes);
BENCHMARK_CAPTURE(Split, deep, kDeep)->Apply(Sizes);
BENCHMARK_CAPTURE(Split, mix, kMix)->Apply(Sizes);

// Resident, without what the allocator keeps for later.
std::size_t ResidentBytes() {
  malloc_trim(0);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// What the tree and its full pool keep in memory, per token in the tree. (pages in the tree)
void Memory(benchmark::State& state, const Shape& shape) {
  for (auto _ : state) {
    const std::size_t before = ResidentBytes();
    auto forest =
        std::make_unique<Forest>(shape, kPageSize, static_cast<std::int32_t>(state.range(0)), 0);
    const std::size_t bytes = ResidentBytes() - before;
    state.counters["bytes/token"] =
        static_cast<double>(bytes) / static_cast<double>(forest->cache().stats().cached_tokens);
  }
}
BENCHMARK_CAPTURE(Memory, wide, kWide)->Arg(100'000)->Arg(1'000'000)->Iterations(1);
BENCHMARK_CAPTURE(Memory, deep, kDeep)->Arg(100'000)->Arg(1'000'000)->Iterations(1);
BENCHMARK_CAPTURE(Memory, mix, kMix)->Arg(100'000)->Arg(1'000'000)->Iterations(1);

// What waits while a prompt of a family is produced and evicted again.
enum class Waiting {
  kOthers,  // prompts of all families, which nothing that happens bears on
  kFamily,  // prompts of the family: they end where the producer's own part begins
  kSame,    // prompts that begin with all of the producer's: each page changes all of them
};

// Watches on `count` waiting prompts. Those that changed are taken, as a scheduler does.
class Room {
 public:
  Room(Forest& forest, Waiting waiting, std::int64_t count, const std::vector<TokenId>& produced)
      : forest_(forest) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<TokenId> known =
          waiting == Waiting::kOthers   ? forest.Path(static_cast<std::size_t>(i) % forest.paths())
          : waiting == Waiting::kFamily ? forest.Family(0)
                                        : produced;
      prompts_.push_back(Joined(known, forest.NewText(4)));
      watches_.emplace_back(nullptr);
      forest.cache().StartWatch(watches_.back(), forest.name_space(), prompts_.back());
    }
  }
  void TakeChanged() {
    while (forest_.cache().TakeChanged() != nullptr) ++changes_;
  }
  double changes() const { return changes_; }

 private:
  Forest& forest_;
  std::deque<std::vector<TokenId>> prompts_;
  std::deque<radix::Watch> watches_;
  double changes_ = 0;
};

constexpr std::int32_t kProduced = 64;  // pages

void Produce(Forest& forest, Room& room, const std::vector<TokenId>& prompt) {
  View view = forest.Open(prompt);
  for (auto at = static_cast<std::size_t>(view.tokens()); at < prompt.size();) {
    const std::size_t tokens = kPageSize - at % kPageSize;
    const bool copies = at % kPageSize > 0;
    CHECK(forest.cache().Grow(view, 1));
    if (copies) forest.cache().CopyDone(view);
    forest.cache().Append(view, std::span(prompt).subspan(at, tokens));
    room.TakeChanged();
    at += tokens;
  }
}

void EvictProduced(Forest& forest, Room& room) {
  View view = forest.Open({});
  for (std::int32_t i = 0; i < kProduced; ++i) {
    CHECK(forest.cache().Grow(view, 1));
    room.TakeChanged();
  }
}

// A prompt is published page by page, and later evicted page by page, beside waiting prompts whose
// cached lengths are kept up to date. `ns/op`: a page of the one or of the other. (watches)
void Watches(benchmark::State& state, Waiting waiting, bool evicts) {
  Forest forest(kMix, kPageSize, 50'000, kProduced);
  const std::vector<TokenId> produced = Joined(forest.Family(0), forest.NewText(kProduced));
  forest.MakeFree(kProduced);
  Room room(forest, waiting, state.range(0), produced);
  Stopwatch watch(state);
  for (auto _ : state) {
    const auto produce = [&] { Produce(forest, room, produced); };
    const auto evict = [&] { EvictProduced(forest, room); };
    if (evicts) {
      produce();
    } else {
      watch.Timed(kProduced, produce);
    }
    for (std::size_t i = 0; i < forest.paths(); ++i) forest.Open(forest.Path(i));  // used later
    if (evicts) {
      watch.Timed(kProduced, evict);
    } else {
      evict();
    }
  }
  state.counters["changes/op"] = Counter(room.changes() / (2 * kProduced), Counter::kAvgIterations);
}
void Counts(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(0)->Arg(256)->Arg(4096)->Iterations(8)->UseManualTime();
}
BENCHMARK_CAPTURE(Watches, publish_others, Waiting::kOthers, false)->Apply(Counts);
BENCHMARK_CAPTURE(Watches, publish_family, Waiting::kFamily, false)->Apply(Counts);
BENCHMARK_CAPTURE(Watches, publish_same, Waiting::kSame, false)->Apply(Counts);
BENCHMARK_CAPTURE(Watches, evict_others, Waiting::kOthers, true)->Apply(Counts);
BENCHMARK_CAPTURE(Watches, evict_family, Waiting::kFamily, true)->Apply(Counts);
BENCHMARK_CAPTURE(Watches, evict_same, Waiting::kSame, true)->Apply(Counts);

}  // namespace
}  // namespace banyan::bench
