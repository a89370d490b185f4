#include "kernels/cuda/emulation/trial.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace banyan::kernels::cuda::emulation {
namespace {

thread_local Trial* current = nullptr;

bool IsSame(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

}  // namespace

Trial::Trial(Options options)
    : options_(std::move(options)), outer_(std::exchange(current, this)), random_(options_.seed) {}

Trial::~Trial() { current = outer_; }

Trial* Trial::Current() { return current; }

bool Trial::Meet(Defect::Kind kind, const std::source_location& where) {
  const auto found = std::ranges::find_if(places_, [&](const Place& place) {
    return place.kind == kind && IsSame(place.where, where);
  });
  if (found != places_.end()) return found->planted;
  places_.push_back({kind, where, options_.planted == Defect{kind, NameOf(where)}});
  return places_.back().planted;
}

std::vector<Defect> Trial::defects() const {
  std::vector<Defect> out;
  for (const Place& place : places_) out.push_back({place.kind, NameOf(place.where)});
  return out;
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
