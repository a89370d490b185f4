#include "kernels/cpu/thread_pool.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/processors.h"

namespace banyan::kernels {
namespace {

using ::testing::Each;

TEST(ShareOf, SharesAreContiguousCompleteAndEven) {
  for (std::int64_t n = 0; n <= 40; ++n) {
    for (std::int32_t threads = 1; threads <= 9; ++threads) {
      std::int64_t next = 0;
      for (std::int32_t t = 0; t < threads; ++t) {
        const Share share = ShareOf(n, t, threads);
        EXPECT_EQ(share.begin, next);
        EXPECT_GE(share.end - share.begin, n / threads);
        EXPECT_LE(share.end - share.begin, n / threads + 1);
        next = share.end;
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST(ThreadPool, BoundWorkersKeepToTheirProcessors) {
  const std::vector<int> allowed = AllowedProcessors();
  ASSERT_FALSE(allowed.empty());
  ThreadPool pool(4, allowed);
  std::vector<std::vector<int>> seen(4);
  const std::thread::id caller = std::this_thread::get_id();
  for (int i = 0; i < 200; ++i) {
    pool.Run([&](std::int32_t t) {
      // The caller runs what a worker is late for, and is bound to nothing.
      if (std::this_thread::get_id() == caller) return;
      seen[t] = AllowedProcessors();
    });
    std::this_thread::yield();
  }
  for (std::size_t t = 1; t < 4; ++t) {
    if (seen[t].empty()) continue;  // it was always late
    EXPECT_THAT(seen[t], ::testing::ElementsAre(allowed[t % allowed.size()]));
  }
}

TEST(ScopedBinding, EndsWhereTheThreadWasBefore) {
  std::thread([] {
    const std::vector<int> before = AllowedProcessors();
    {
      const ScopedBinding binding(before.back());
      EXPECT_THAT(AllowedProcessors(), ::testing::ElementsAre(before.back()));
    }
    EXPECT_EQ(AllowedProcessors(), before);
    { const ScopedBinding nowhere(1 << 20); }
    EXPECT_EQ(AllowedProcessors(), before);
    EXPECT_FALSE(BindThread(1 << 20));
  }).join();
}

class Pools : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Pools, ::testing::Values(1, 2, 3, 5));

TEST_P(Pools, EveryPartRunsOncePerRun) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  std::vector<int> runs(GetParam());  // a race between runs would be seen by tsan
  for (int i = 1; i <= 500; ++i) {
    pool.Run([&](std::int32_t t) { ++runs[t]; });
    ASSERT_THAT(runs, Each(i)) << "Run returned before all were done";
  }
}

TEST_P(Pools, ForVisitsEachItemOnce) {
  ThreadPool pool(GetParam());
  for (std::int64_t n = 0; n <= 20; ++n) {
    std::vector<int> visits(n);
    pool.For(n, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_LT(begin, end);
      for (std::int64_t i = begin; i < end; ++i) ++visits[i];
    });
    EXPECT_THAT(visits, Each(1));
  }
}

TEST_P(Pools, ForPiecesVisitsEachItemOnceAPieceAtATime) {
  ThreadPool pool(GetParam());
  for (std::int64_t n = 0; n <= 20; ++n) {
    for (const std::int64_t piece : {1, 2, 7, 100}) {
      std::vector<int> visits(n);
      pool.ForPieces(n, piece, [&](std::int32_t t, std::int64_t begin, std::int64_t end) {
        EXPECT_TRUE(0 <= t && t < GetParam());
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, piece);
        for (std::int64_t i = begin; i < end; ++i) ++visits[i];
      });
      EXPECT_THAT(visits, Each(1)) << n << " by " << piece;
    }
  }
}

// Whoever waits in a piece leaves the rest of its share to the others.
TEST_P(Pools, ForPiecesNeedsNoThreadForMoreThanOnePiece) {
  ThreadPool pool(GetParam());
  constexpr std::int64_t kItems = 100;
  std::atomic<std::int64_t> done = 0;
  std::atomic<std::int64_t> held = 0;  // pieces that wait until all others are done
  std::vector<std::atomic<bool>> waits(GetParam());
  pool.ForPieces(kItems, 1, [&](std::int32_t t, std::int64_t, std::int64_t) {
    const bool first = !waits[t].exchange(true);
    if (first && t + 1 < GetParam()) {
      ++held;
      while (done + held < kItems) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, kItems);
}

TEST_P(Pools, ParkedWorkersWakeUp) {
  ThreadPool pool(GetParam());
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    std::vector<int> seen(GetParam());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // past the workers' spinning
    pool.Run([&](std::int32_t t) { seen[t] = 1; });
    for (const int one : seen) sum += one;
  }
  EXPECT_EQ(sum, 5 * GetParam());
}

TEST_P(Pools, CallerDoesTheWorkOfWorkersThatHaveNotBegun) {
  // Right after the start most workers are not up yet.
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(GetParam());
    std::vector<int> runs(GetParam());
    for (int j = 1; j <= 3; ++j) {
      pool.Run([&](std::int32_t t) { ++runs[t]; });
      ASSERT_THAT(runs, Each(j));
    }
  }
}

TEST_P(Pools, CallerParksUntilASlowWorkerIsDone) {
  ThreadPool pool(GetParam());
  std::vector<int> done(GetParam());
  pool.Run([&](std::int32_t t) {
    // Part 0 gives the workers time to begin theirs, which then outlast the caller's.
    std::this_thread::sleep_for(std::chrono::milliseconds(t == 0 ? 2 : 4 * t));
    done[t] = 1;
  });
  EXPECT_THAT(done, Each(1));
}

TEST_P(Pools, EndWithoutHavingRun) { ThreadPool pool(GetParam()); }

}  // namespace
}  // namespace banyan::kernels
