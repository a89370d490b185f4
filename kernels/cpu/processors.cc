#include "kernels/cpu/processors.h"

#include <sched.h>

#include <cstddef>
#include <memory>

namespace banyan::kernels {
namespace {

struct FreeMask {
  void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
};

bool Bind(const std::vector<int>& processors) {
  if (processors.empty()) return false;
  const int size = processors.back() + 1;
  const std::unique_ptr<cpu_set_t, FreeMask> mask(CPU_ALLOC(size));
  if (mask == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(size);
  CPU_ZERO_S(bytes, mask.get());
  for (const int processor : processors) CPU_SET_S(processor, bytes, mask.get());
  return sched_setaffinity(0, bytes, mask.get()) == 0;
}

}  // namespace

std::vector<int> AllowedProcessors() {
  std::vector<int> processors;
  // The system refuses a mask that is smaller than its own, so grow until it fits.
  for (int size = 1024; size <= 1 << 16; size *= 2) {
    const std::unique_ptr<cpu_set_t, FreeMask> mask(CPU_ALLOC(size));
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    if (mask == nullptr || sched_getaffinity(0, bytes, mask.get()) != 0) continue;
    for (int i = 0; i < size; ++i) {
      if (CPU_ISSET_S(i, bytes, mask.get())) processors.push_back(i);
    }
    break;
  }
  return processors;
}

bool BindThread(int processor) { return Bind({processor}); }

ScopedBinding::ScopedBinding(int processor) : before_(AllowedProcessors()) {
  if (!BindThread(processor)) before_.clear();
}

ScopedBinding::~ScopedBinding() { Bind(before_); }

}  // namespace banyan::kernels
