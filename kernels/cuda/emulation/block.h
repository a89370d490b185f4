// A block of threads: fibers of one host thread, which take turns at barriers and where a warp's
// lanes meet. Blocks of a grid run one after the other, so global memory needs no locks; each
// starts with shared memory of 0xff bytes, which are NaN as floats.
//
// A launch ends, with one line of what is wrong, at: threads that wait at different barriers, or
// for one that has ended; lanes that name others than those that meet them, or do not name
// themselves; what the race check finds (race_check.h); a shape that no device takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "kernels/cuda/emulation/fiber.h"
#include "kernels/cuda/emulation/race_check.h"
#include "kernels/cuda/emulation/types.h"

namespace banyan::kernels::cuda::emulation {

inline constexpr unsigned kLanes = 32;

struct LaunchShape {
  static constexpr unsigned kMaxThreads = 1024;
  static constexpr std::size_t kMaxShared = 99 * 1024;  // of a block of sm_89, the least of ours
  static constexpr std::size_t kMaxStaticShared = 48 * 1024;
  static constexpr unsigned kMaxGridYZ = 65535;

  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
};

// Runs `kernel` once for every thread of the grid.
void RunGrid(const LaunchShape& shape, const std::function<void()>& kernel);

class Block {
 public:
  using Site = std::source_location;
  // Called by the last lane to come, with every lane's payload at its index; null where the mask
  // has no lane.
  using Complete = void (*)(void* const* payloads, std::uint32_t mask);
  struct Copy {
    void* to;
    const void* from;
  };

  // That of the running thread. One must run.
  static Block& Current() { return *current_; }

  // What every thread of the block said together: true where any did. A barrier.
  bool Synchronize(bool said, const Site& where);
  // Waits for the lanes of `mask`, which must all be here with that mask and `complete`.
  void Meet(std::uint32_t mask, void* payload, Complete complete, const Site& where);
  // The mask of the running lane where a trial gives each half of the lanes its own.
  std::uint32_t Halved(std::uint32_t mask, const Site& where) const;
  // As Meet, and orders the warp's accesses of shared memory if it is all of the warp.
  void SynchronizeWarp(std::uint32_t mask, const Site& where);

  std::byte* Dynamic(std::size_t at, std::size_t bytes);
  std::byte* Static(const void* tag, std::size_t bytes);
  // Every access of shared memory comes by here.
  void Touch(const void* address, std::size_t bytes, RaceCheck::Kind kind) {
    if (looks_for_races_) CheckTouch(address, bytes, kind);
  }

  // Copies of 16 bytes, which arrive when the thread waits for them and not before.
  void StartCopy(Copy copy);
  void CommitCopies();
  void WaitForCopies(std::size_t newest_groups);

  // Ends the launch.
  [[noreturn]] void Fail(const std::string& what);

 private:
  friend void RunGrid(const LaunchShape& shape, const std::function<void()>& kernel);

  enum class State : std::uint8_t { kReady, kAtBarrier, kAtMeeting, kEnded };
  struct Thread {
    State state = State::kReady;
    bool started = false;
    Site site;
    std::uint32_t mask = 0;
    void* payload = nullptr;
    Complete complete = nullptr;
    std::vector<std::vector<Copy>> copies;  // groups, the last of them open
  };
  struct Abandoned {};  // thrown through a thread whose launch has failed

  void Prepare(const LaunchShape& shape, const std::function<void()>& kernel);
  bool Run(uint3 index);  // false: failed
  void RunThread();       // on a fiber
  void RunReady();
  void Abandon();
  void Turn(unsigned thread);
  void Wait();
  void MakeReady(unsigned thread);
  void ReleaseBarrier();
  std::uint32_t LanesHere(std::uint32_t mask, Complete complete, const Site& where);
  void CheckTouch(const void* address, std::size_t bytes, RaceCheck::Kind kind);
  RaceCheck::Access Who() const;
  void NoteFailure(const std::string& what);
  std::string DescribeStuck() const;

  static constinit thread_local Block* current_;

  LaunchShape shape_;
  const std::function<void()>* kernel_ = nullptr;
  unsigned count_ = 0;    // threads
  unsigned running_ = 0;  // the thread whose turn it is
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // of the largest block so far
  std::deque<unsigned> ready_;
  unsigned at_barrier_ = 0;
  unsigned ended_ = 0;
  bool failed_ = false;
  bool said_ = false;         // so far, by those at the barrier
  bool said_before_ = false;  // by all, at the last one

  bool looks_for_races_ = false;
  RaceCheck races_;
  std::uint32_t block_barriers_ = 0;
  std::vector<std::uint32_t> warp_barriers_;

  std::unique_ptr<std::byte[]> dynamic_;
  std::map<const void*, std::unique_ptr<std::byte[]>> statics_;
  std::size_t static_bytes_ = 0;
};

}  // namespace banyan::kernels::cuda::emulation
