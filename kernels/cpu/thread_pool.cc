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
    : parts_(static_cast<std::size_t>(threads < 1 ? 0 : threads)), taken_(parts_.size()) {
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
  run_.fetch_add(1);
  run_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// What is not there to be taken is only looked at: a line that two write travels twice as often.
bool ThreadPool::RunPart(std::int32_t part, std::uint32_t run) {
  std::atomic<std::uint32_t>& state = parts_[static_cast<std::size_t>(part)].state;
  std::uint32_t before = 2 * (run - 1);  // every part of the run before is done
  if (state.load(std::memory_order_acquire) != before ||
      !state.compare_exchange_strong(before, 2 * run - 1, std::memory_order_acq_rel))
    return false;
  job_.call(job_.context, part);
  state.fetch_add(1);
  return true;
}

void ThreadPool::RunJob(const Job& job) {
  if (workers_.empty()) {
    job.call(job.context, 0);
    return;
  }
  job_ = job;
  // Only this thread writes it. Where a worker just goes to sleep the store may come too late to be
  // seen and to see it: then it sleeps through this run, and its part is done here.
  const std::uint32_t run = run_.load(std::memory_order_relaxed) + 1;
  run_.store(run, std::memory_order_release);
  run_.notify_all();
  job.call(job.context, 0);
  for (std::int32_t part = 1; part < threads(); ++part) RunPart(part, run);
  for (std::int32_t part = 1; part < threads(); ++part)
    AwaitChange(parts_[static_cast<std::size_t>(part)].state, 2 * run - 1);
}

void ThreadPool::Work(std::int32_t part, int processor) {
  if (processor != kUnbound) BindThread(processor);
  std::atomic<std::uint32_t>& state = parts_[static_cast<std::size_t>(part)].state;
  for (std::uint32_t run = 0;;) {
    run = AwaitChange(run_, run);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (RunPart(part, run)) state.notify_one();
  }
}

}  // namespace banyan::kernels
