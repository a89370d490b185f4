// Time enters Banyan only through this file, so that the scheduler, the tree and the simulator run
// unchanged under a fake clock.
#pragma once

#include <atomic>
#include <chrono>

namespace banyan {

// Time since an arbitrary epoch that does not change while the process runs.
using Tick = std::chrono::nanoseconds;

inline double Seconds(Tick tick) { return std::chrono::duration<double>(tick).count(); }

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Tick Now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Tick Now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

// Stands still until it is moved.
class FakeClock final : public Clock {
 public:
  Tick Now() const override { return Tick(now_.load()); }
  void Advance(Tick by) { now_ += by.count(); }

 private:
  std::atomic<Tick::rep> now_ = 0;
};

}  // namespace banyan
