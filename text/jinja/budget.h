// Counts what one rendering uses against the bounds of limits.h, and ends it beyond them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/jinja/limits.h"

namespace banyan::text::jinja {

class Budget {
 public:
  Budget() = default;
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  void Step(std::uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ > kMaxSteps) TooManySteps();
  }
  // Before `bytes` are copied or compared.
  void Touch(std::size_t bytes) { Step(bytes / kBytesPerStep); }
  // Before they are searched, or looked at one by one.
  void Read(std::size_t bytes) { Step(bytes / kReadBytesPerStep); }

  // Before memory is taken; unless it throws, Release gives back as much.
  void Hold(std::size_t bytes) {
    if (bytes > kMaxHeldBytes - held_) TooMuchMemory();
    held_ += bytes;
  }
  void Release(std::size_t bytes) { held_ -= bytes; }

  std::uint64_t steps() const { return steps_; }
  std::size_t held() const { return held_; }

 private:
  [[noreturn]] static void TooManySteps();
  [[noreturn]] static void TooMuchMemory();

  std::uint64_t steps_ = 0;
  std::size_t held_ = 0;
};

}  // namespace banyan::text::jinja
