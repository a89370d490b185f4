#include "kernels/cuda/emulation/fiber.h"

#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define BANYAN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BANYAN_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(BANYAN_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace banyan::kernels::cuda::emulation {
namespace {

namespace context = boost::context;

// Around every switch: the stack that comes, before it, and on that stack, after it.
#if defined(BANYAN_ADDRESS_SANITIZER)
void Leave(void** kept, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(kept, stack, bytes);
}
void Arrive(void* kept, const void** from, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(kept, from, bytes);
}
#else
void Leave(void** /*kept*/, const void* /*stack*/, std::size_t /*bytes*/) {}
void Arrive(void* /*kept*/, const void** /*from*/, std::size_t* /*bytes*/) {}
#endif

}  // namespace

Fiber::Fiber(std::function<void()> task) : task_(std::move(task)) {
  context::protected_fixedsize_stack allocator(kStackBytes);
  const context::stack_context stack = allocator.allocate();
  stack_ = static_cast<const std::byte*>(stack.sp) - stack.size;
  stack_bytes_ = stack.size;
  inside_ = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
                           allocator,
                           [this](context::fiber&& resumer) { return Loop(std::move(resumer)); });
}

Fiber::~Fiber() {
  ending_ = true;
  Resume();
}

void Fiber::Resume() {
  void* kept = nullptr;
  Leave(&kept, stack_, stack_bytes_);
  inside_ = std::move(inside_).resume();
  Arrive(kept, nullptr, nullptr);
}

void Fiber::Suspend() {
  void* kept = nullptr;
  Leave(&kept, resumer_stack_, resumer_stack_bytes_);
  resumer_ = std::move(resumer_).resume();
  Arrive(kept, &resumer_stack_, &resumer_stack_bytes_);
}

context::fiber Fiber::Loop(context::fiber&& resumer) {
  resumer_ = std::move(resumer);
  Arrive(nullptr, &resumer_stack_, &resumer_stack_bytes_);
  while (!ending_) {
    task_();
    Suspend();
  }
  Leave(nullptr, resumer_stack_, resumer_stack_bytes_);  // for good
  return std::move(resumer_);
}

}  // namespace banyan::kernels::cuda::emulation
