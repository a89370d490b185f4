// How launches run on this thread while a Trial lives, and what went wrong in them: for tests.
// Without one, threads run in the order of their indices, races are not looked for, and a failure
// aborts the program.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace banyan::kernels::cuda::emulation {

class Trial {
 public:
  enum class Races : std::uint8_t { kIgnored, kReported };
  struct Options {
    Races races = Races::kReported;
    std::uint64_t seed = 0;  // of the order of threads and blocks; 0: by index
    // The barrier that is left out: an element of another trial's barriers(), or empty.
    std::string without_barrier{};
  };

  explicit Trial(Options options);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // One line each, in the order in which they were met. A launch ends with its first.
  const std::vector<std::string>& failures() const { return failures_; }
  // Where kernels called __syncthreads, "norm.cu:42", each place once.
  const std::vector<std::string>& barriers() const { return barriers_; }

  // For the emulation.
  static Trial* Current();
  const Options& options() const { return options_; }
  void NoteFailure(std::string what) { failures_.push_back(std::move(what)); }
  // False: this barrier is left out.
  bool NoteBarrier(const std::source_location& where);
  std::uint64_t Random();  // from the seed

 private:
  Options options_;
  Trial* outer_;
  std::uint64_t random_;
  std::vector<std::string> failures_;
  std::vector<std::string> barriers_;
};

// "norm.cu:42"
std::string NameOf(const std::source_location& where);

}  // namespace banyan::kernels::cuda::emulation
