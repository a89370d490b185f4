// Persistent workers for loops whose plan is fixed beforehand.
//
// Run(f) calls f(t) once for each part t = 0 .. threads - 1 and returns when all have returned.
// What a part does is a function of t and of the work, never of timing, but in ForPieces. Part t is
// worker t's; the caller takes part 0 and then whatever parts no worker has begun, so that a
// machine busy with other work never makes it wait for a worker to be woken.
//
// Workers spin shortly between runs (the operations of one step follow each other within
// microseconds), then park. One thread at a time may call Run, and not from within Run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace banyan::kernels {

struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
// The items of 0 .. n - 1 that are part t's: contiguous, sizes differ by one at most.
constexpr Share ShareOf(std::int64_t n, std::int32_t t, std::int32_t threads) {
  return {n * t / threads, n * (t + 1) / threads};
}

class ThreadPool {
 public:
  // At least 1, the caller's among them. Worker t is bound to the t-th of `processors`, counted
  // around; where there are none, to nothing. Throws std::system_error when the system refuses a
  // thread.
  explicit ThreadPool(std::int32_t threads, const std::vector<int>& processors = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::int32_t threads() const { return static_cast<std::int32_t>(workers_.size()) + 1; }

  template <class F>
  void Run(const F& f) {
    RunJob({[](const void* context, std::int32_t t) { (*static_cast<const F*>(context))(t); }, &f});
  }

  // f(begin, end) for each part's share of items 0 .. n - 1; empty shares are not called.
  template <class F>
  void For(std::int64_t n, const F& f) {
    const std::int32_t count = threads();
    Run([&](std::int32_t t) {
      const Share share = ShareOf(n, t, count);
      if (share.begin < share.end) f(share.begin, share.end);
    });
  }

  // f(thread, begin, end) for all items 0 .. n - 1, at most `piece` of them at a time. A thread
  // takes those of its share first, in order, and then what others have not come to: for runs so
  // long that threads would wait for the slowest, where results do not depend on who computes what.
  template <class F>
  void ForPieces(std::int64_t n, std::int64_t piece, const F& f) {
    const std::int32_t count = threads();
    for (Taken& taken : taken_) taken.pieces.store(0, std::memory_order_relaxed);
    Run([&](std::int32_t t) {
      for (std::int32_t i = 0; i < count; ++i) {
        const std::int32_t owner = (t + i) % count;
        const Share share = ShareOf(n, owner, count);
        std::atomic<std::int64_t>& pieces = taken_[static_cast<std::size_t>(owner)].pieces;
        for (;;) {
          const std::int64_t begin =
              share.begin + piece * pieces.fetch_add(1, std::memory_order_relaxed);
          if (begin >= share.end) break;
          f(t, begin, std::min(begin + piece, share.end));
        }
      }
    });
  }

 private:
  struct Job {
    void (*call)(const void* context, std::int32_t part) = nullptr;
    const void* context = nullptr;
  };
  // A part of one worker, on a line of the cache of its own: 2 r - 1 while someone is at it in run
  // r, 2 r from then until the next run, both modulo 2^32.
  struct alignas(64) Part {
    std::atomic<std::uint32_t> state = 0;
  };
  // Of a thread's share in ForPieces: so many pieces were taken, or looked for in vain.
  struct alignas(64) Taken {
    std::atomic<std::int64_t> pieces = 0;
  };

  void RunJob(const Job& job);
  void Work(std::int32_t part, int processor);
  void Stop();  // and wait until all have stopped

  // Runs a part, unless someone has begun it in this run.
  bool RunPart(std::int32_t part, std::uint32_t run);

  // Beside each other, for a worker needs both at once. `job_` is written before `run_` grows, and
  // read only by who has begun a part of that run, which cannot end before that part has.
  alignas(64) std::atomic<std::uint32_t> run_ = 0;
  Job job_;
  alignas(64) std::atomic<bool> stopping_ = false;
  std::vector<Part> parts_;  // by part; that of the caller is not used
  std::vector<Taken> taken_;
  std::vector<std::thread> workers_;
};

}  // namespace banyan::kernels
