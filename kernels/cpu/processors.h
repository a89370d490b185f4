// The processors of this machine that this process may run on, and threads bound to one of them.
#pragma once

#include <vector>

namespace banyan::kernels {

// Those that the calling thread may run on, in increasing order; empty when the system does not
// say.
std::vector<int> AllowedProcessors();

// The calling thread runs on that one only, from now on. False when the system refuses.
bool BindThread(int processor);

// The same, as long as this lives; then the thread may run where it could before. The same thread
// destroys it.
class ScopedBinding {
 public:
  explicit ScopedBinding(int processor);
  ~ScopedBinding();
  ScopedBinding(const ScopedBinding&) = delete;
  ScopedBinding& operator=(const ScopedBinding&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace banyan::kernels
