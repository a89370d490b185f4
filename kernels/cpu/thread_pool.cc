#include "kernels/cpu/thread_pool.h"

#include "kernels/cpu/processors.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// About 20 microseconds: longer than the gaps within a step, shorter than a scheduler's tick.
constexpr int kSpins = 1000;

constexpr int kUnbound = -1;

// Returns once `value` differs from `old`, with what it became.
std::uint32_t AwaitChange(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(std::int32_t threads, const std::vector<int>& processors)
    : claimed_(static_cast<std::size_t>(threads < 1 ? 0 : threads)) {
  Require(threads >= 1, "a pool has at least the caller's thread");
  workers_.reserve(static_cast<std::size_t>(threads) - 1);
  try {
    for (std::int32_t t = 1; t < threads; ++t) {
      const int processor = processors.empty()
                                ? kUnbound
                                : processors[static_cast<std::size_t>(t) % processors.size()];
      workers_.emplace_back([this, t, processor] { Work(t, processor); });
    }
  } catch (...) {  // the system gives no more threads
    Stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Stop() {
  stopping_.store(true, std::memory_order_relaxed);
  run_.fetch_add(1, std::memory_order_release);
  run_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool ThreadPool::Claim(std::int32_t part, std::uint32_t run) {
  std::uint32_t before = run - 1;  // every part of the run before was claimed by someone
  return claimed_[static_cast<std::size_t>(part)].compare_exchange_strong(
      before, run, std::memory_order_acq_rel);
}

void ThreadPool::RunJob(const Job& job) {
  if (workers_.empty()) {
    job.call(job.context, 0);
    return;
  }
  job_ = job;
  unfinished_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  const std::uint32_t run = run_.fetch_add(1, std::memory_order_release) + 1;
  run_.notify_all();
  job.call(job.context, 0);
  for (std::int32_t part = 1; part < threads(); ++part) {
    if (!Claim(part, run)) continue;
    job.call(job.context, part);
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
  }
  std::uint32_t left = unfinished_.load(std::memory_order_acquire);
  while (left != 0) left = AwaitChange(unfinished_, left);
}

void ThreadPool::Work(std::int32_t part, int processor) {
  if (processor != kUnbound) BindThread(processor);
  for (std::uint32_t seen = 0;;) {
    seen = AwaitChange(run_, seen);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (!Claim(part, seen)) continue;  // late: the caller has done it
    job_.call(job_.context, part);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

}  // namespace banyan::kernels
