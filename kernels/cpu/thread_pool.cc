#include "kernels/cpu/thread_pool.h"

#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// About 20 microseconds: longer than the gaps within a step, shorter than a scheduler's tick.
constexpr int kSpins = 1000;

// Returns once `value` differs from `old`, with what it became.
std::int32_t AwaitChange(const std::atomic<std::int32_t>& value, std::int32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    const std::int32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(std::int32_t threads) {
  Require(threads >= 1, "a pool has at least the caller's thread");
  workers_.reserve(static_cast<std::size_t>(threads) - 1);
  for (std::int32_t t = 1; t < threads; ++t) workers_.emplace_back([this, t] { Work(t); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunJob(const Job& job) {
  if (!workers_.empty()) {
    job_ = job;
    unfinished_.store(static_cast<std::int32_t>(workers_.size()), std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
  }
  job.call(job.context, 0);
  std::int32_t left = unfinished_.load(std::memory_order_acquire);
  while (left != 0) left = AwaitChange(unfinished_, left);
}

void ThreadPool::Work(std::int32_t thread) {
  for (std::int32_t seen = 0;;) {
    seen = AwaitChange(epoch_, seen);
    if (stopping_) return;
    job_.call(job_.context, thread);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

}  // namespace banyan::kernels
