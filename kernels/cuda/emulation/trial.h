// How launches run on this thread while a Trial lives, and what went wrong in them: for tests.
// Without one, threads run in the order of their indices, races are not looked for, and a failure
// aborts the program.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace banyan::kernels::cuda::emulation {

// Something that a kernel's author may get wrong, at one place of its source.
struct Defect {
  enum class Kind : std::uint8_t {
    kNoBarrier,      // a __syncthreads is left out
    kNoWarpBarrier,  // a __syncwarp is
    kShortMask,      // a mask does not name the last of its lanes
    kHalfMasks,      // each half of the lanes votes, reduces or waits by itself
    kOtherLane,      // a shuffle reads the lane beside the one that it should
  };
  Kind kind = Kind::kNoBarrier;
  std::string where;  // "norm.cu:42"
  friend bool operator==(const Defect&, const Defect&) = default;
};

class Trial {
 public:
  enum class Races : std::uint8_t { kIgnored, kReported };
  struct Options {
    Races races = Races::kReported;
    std::uint64_t seed = 0;           // of the order of threads and blocks; 0: by index
    std::optional<Defect> planted{};  // an element of another trial's defects()
  };

  explicit Trial(Options options);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // One line each, in the order in which they were met. A launch ends with its first.
  const std::vector<std::string>& failures() const { return failures_; }
  // All that may be planted where kernels came by, each once.
  std::vector<Defect> defects() const;

  // For the emulation.
  static Trial* Current();
  const Options& options() const { return options_; }
  void NoteFailure(std::string what) { failures_.push_back(std::move(what)); }
  std::uint64_t Random();  // from the seed
  // Whether it is planted in the current trial, which notes that it may be.
  static bool Has(Defect::Kind kind, const std::source_location& where) {
    return Current() != nullptr && Current()->Meet(kind, where);
  }

 private:
  struct Place {
    Defect::Kind kind;
    std::source_location where;
    bool planted;
  };
  bool Meet(Defect::Kind kind, const std::source_location& where);

  Options options_;
  Trial* outer_;
  std::uint64_t random_;
  std::vector<std::string> failures_;
  std::vector<Place> places_;
};

// "norm.cu:42"
std::string NameOf(const std::source_location& where);

}  // namespace banyan::kernels::cuda::emulation
