// main of tests that run on a device: without one they say so and end, and an error of the device
// that no test has seen fails them.
#include <cstdio>
#include <string>

#include "gmock/gmock.h"
#include "kernels/cuda/runtime.h"

namespace {

int Fail(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  std::string why;
  if (!banyan::kernels::cuda::TakeDevice(0, &why)) return Fail(argv[0], why);
  const int result = RUN_ALL_TESTS();
  const std::string failure = banyan::kernels::cuda::FirstError();
  return failure.empty() ? result : Fail(argv[0], failure);
}
