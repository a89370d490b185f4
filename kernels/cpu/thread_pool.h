// Persistent workers for loops whose plan is fixed beforehand.
//
// Run(f) calls f(0) on the caller and f(1) .. f(threads - 1) on the workers, and returns when all
// have returned. What thread t does is a function of t and of the work, never of timing.
//
// Workers spin shortly between runs (the operations of one step follow each other within
// microseconds), then park. One thread at a time may call Run, and not from within Run.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace banyan::kernels {

struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
// The part of items 0 .. n - 1 that is thread t's: contiguous, sizes differ by one at most.
constexpr Share ShareOf(std::int64_t n, std::int32_t t, std::int32_t threads) {
  return {n * t / threads, n * (t + 1) / threads};
}

class ThreadPool {
 public:
  explicit ThreadPool(std::int32_t threads);  // at least 1, the caller's among them
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::int32_t threads() const { return static_cast<std::int32_t>(workers_.size()) + 1; }

  template <class F>
  void Run(const F& f) {
    RunJob({[](const void* context, std::int32_t t) { (*static_cast<const F*>(context))(t); }, &f});
  }

  // f(begin, end) for each thread's share of items 0 .. n - 1; empty shares are not called.
  template <class F>
  void For(std::int64_t n, const F& f) {
    const std::int32_t count = threads();
    Run([&](std::int32_t t) {
      const Share share = ShareOf(n, t, count);
      if (share.begin < share.end) f(share.begin, share.end);
    });
  }

 private:
  struct Job {
    void (*call)(const void* context, std::int32_t thread) = nullptr;
    const void* context = nullptr;
  };
  void RunJob(const Job& job);
  void Work(std::int32_t thread);

  // Written by the caller before `epoch_` grows, read by workers after they saw it grow.
  Job job_;
  bool stopping_ = false;

  alignas(64) std::atomic<std::int32_t> epoch_ = 0;
  alignas(64) std::atomic<std::int32_t> unfinished_ = 0;  // workers still in the current run
  std::vector<std::thread> workers_;
};

}  // namespace banyan::kernels
