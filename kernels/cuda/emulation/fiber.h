// A function on a stack of its own, which runs when resumed until it suspends itself or ends.
//
// Thread safety: a fiber is resumed and destroyed by the thread that made it.
// Its stack is kept from one run to the next: making one costs two system calls, running it none.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace banyan::kernels::cuda::emulation {

class Fiber {
 public:
  static constexpr std::size_t kStackBytes = 128 * 1024;  // above a page that faults

  // `task` is what a run is: it starts with the first Resume after the last run's end. No exception
  // may leave it.
  explicit Fiber(std::function<void()> task);
  ~Fiber();  // between runs
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void Resume();
  // On this fiber: back to who resumed it.
  void Suspend();

 private:
  boost::context::fiber Loop(boost::context::fiber&& resumer);

  std::function<void()> task_;
  bool ending_ = false;
  boost::context::fiber inside_;   // this fiber, while it is suspended
  boost::context::fiber resumer_;  // who resumed it, while it runs
  // What the address sanitizer has to be told of both stacks.
  const void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  const void* resumer_stack_ = nullptr;
  std::size_t resumer_stack_bytes_ = 0;
};

}  // namespace banyan::kernels::cuda::emulation
