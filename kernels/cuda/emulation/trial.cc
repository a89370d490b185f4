#include "kernels/cuda/emulation/trial.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace banyan::kernels::cuda::emulation {
namespace {

thread_local Trial* current = nullptr;

}  // namespace

Trial::Trial(Options options)
    : options_(std::move(options)), outer_(std::exchange(current, this)), random_(options_.seed) {}

Trial::~Trial() { current = outer_; }

Trial* Trial::Current() { return current; }

bool Trial::NoteBarrier(const std::source_location& where) {
  const std::string name = NameOf(where);
  if (std::ranges::find(barriers_, name) == barriers_.end()) barriers_.push_back(name);
  return name != options_.without_barrier;
}

// SplitMix64: Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014.
std::uint64_t Trial::Random() {
  random_ += 0x9e3779b97f4a7c15U;
  std::uint64_t z = random_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

std::string NameOf(const std::source_location& where) {
  const std::string_view path = where.file_name();
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

}  // namespace banyan::kernels::cuda::emulation
