// What the threads of a block, and the lanes of a warp, do together. Each function knows the line
// that calls it, for what is said when they do not meet.
#pragma once

#include <cstdint>
#include <source_location>

#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/trial.h"
#include "kernels/cuda/emulation/types.h"

namespace banyan::kernels::cuda {
namespace emulation {

// What a lane brings, which lane's it wants, and what it gets.
template <class T>
struct Exchange {
  T brought;
  unsigned wanted;
  T got;
};

inline unsigned Lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % kLanes;
}

template <class T>
T Shuffle(std::uint32_t mask, T value, unsigned wanted, const std::source_location& where) {
  if (Trial::Has(Defect::Kind::kOtherLane, where)) wanted ^= 1;
  Exchange<T> exchange{value, wanted, value};
  const Block::Complete complete = [](void* const* payloads, std::uint32_t present) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((present >> lane & 1) == 0) continue;
      auto& to = *static_cast<Exchange<T>*>(payloads[lane]);
      if ((present >> to.wanted & 1) == 0)
        Block::Current().Fail("lane " + std::to_string(lane) + " reads lane " +
                              std::to_string(to.wanted) + ", which the mask does not name");
      to.got = static_cast<Exchange<T>*>(payloads[to.wanted])->brought;
    }
  };
  Block::Current().Meet(mask, &exchange, complete, where);
  return exchange.got;
}

// All lanes get reduce(.. reduce(lane a, lane b) ..), in the order of the lanes.
template <class Reduce, class T>
T Reduced(std::uint32_t mask, T value, const std::source_location& where) {
  mask = Block::Current().Halved(mask, where);
  Exchange<T> exchange{value, 0, value};
  const Block::Complete complete = [](void* const* payloads, std::uint32_t present) {
    const Exchange<T>* first = nullptr;
    T sum{};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((present >> lane & 1) == 0) continue;
      const auto* from = static_cast<const Exchange<T>*>(payloads[lane]);
      sum = first == nullptr ? from->brought : Reduce()(sum, from->brought);
      if (first == nullptr) first = from;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if ((present >> lane & 1) != 0) static_cast<Exchange<T>*>(payloads[lane])->got = sum;
  };
  Block::Current().Meet(mask, &exchange, complete, where);
  return exchange.got;
}

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Either {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a | b; }
};

using Site = std::source_location;

}  // namespace emulation

// NOLINTBEGIN: these names are CUDA's
inline void __syncthreads(emulation::Site where = emulation::Site::current()) {
  emulation::Block::Current().Synchronize(false, where);
}
inline int __syncthreads_or(int said, emulation::Site where = emulation::Site::current()) {
  return emulation::Block::Current().Synchronize(said != 0, where) ? 1 : 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffU,
                       emulation::Site where = emulation::Site::current()) {
  emulation::Block::Current().SynchronizeWarp(mask, where);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
              emulation::Site where = emulation::Site::current()) {
  const unsigned w = static_cast<unsigned>(width);
  const unsigned from = emulation::Lane() / w * w + static_cast<unsigned>(lane) % w;
  return emulation::Shuffle(mask, value, from, where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  emulation::Site where = emulation::Site::current()) {
  const unsigned lane = emulation::Lane();
  const unsigned last = lane | (static_cast<unsigned>(width) - 1);
  const unsigned from = lane ^ static_cast<unsigned>(bits);
  return emulation::Shuffle(mask, value, from > last ? lane : from, where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 emulation::Site where = emulation::Site::current()) {
  const unsigned lane = emulation::Lane();
  const unsigned within = lane % static_cast<unsigned>(width);
  return emulation::Shuffle(mask, value, delta > within ? lane : lane - delta, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   emulation::Site where = emulation::Site::current()) {
  const unsigned lane = emulation::Lane();
  const unsigned w = static_cast<unsigned>(width);
  return emulation::Shuffle(mask, value, lane % w + delta >= w ? lane : lane + delta, where);
}

inline unsigned __ballot_sync(unsigned mask, int said,
                              emulation::Site where = emulation::Site::current()) {
  const std::uint32_t own = said != 0 ? 1U << emulation::Lane() : 0;
  return emulation::Reduced<emulation::Either>(mask, own, where);
}
inline int __any_sync(unsigned mask, int said, emulation::Site where = emulation::Site::current()) {
  return __ballot_sync(mask, said, where) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int said, emulation::Site where = emulation::Site::current()) {
  return __ballot_sync(mask, said, where) == mask ? 1 : 0;
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value,
                                  emulation::Site where = emulation::Site::current()) {
  return emulation::Reduced<emulation::Sum>(mask, value, where);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value,
                                  emulation::Site where = emulation::Site::current()) {
  return emulation::Reduced<emulation::Least>(mask, value, where);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value,
                                  emulation::Site where = emulation::Site::current()) {
  return emulation::Reduced<emulation::Greatest>(mask, value, where);
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
// NOLINTEND

}  // namespace banyan::kernels::cuda
