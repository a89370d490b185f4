// Shared memory, whose every access can be checked, atomic operations, and copies that arrive late.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels/cuda/emulation/block.h"

namespace banyan::kernels::cuda {

template <class T>
class Shared {
 public:
  class Reference {
   public:
    explicit Reference(T* at) : at_(at) {}
    Reference(const Reference&) = default;
    operator T() const {  // NOLINT: what it refers to is a T
      Touch(emulation::RaceCheck::Kind::kRead);
      T value;
      std::memcpy(&value, at_, sizeof value);
      return value;
    }
    const Reference& operator=(T value) const {  // NOLINT: as of a T&
      Touch(emulation::RaceCheck::Kind::kWrite);
      std::memcpy(at_, &value, sizeof value);
      return *this;
    }
    const Reference& operator=(const Reference& other) const {  // NOLINT: as of a T&
      return *this = static_cast<T>(other);
    }
    const Reference& operator+=(T value) const { return *this = static_cast<T>(*this) + value; }

   private:
    void Touch(emulation::RaceCheck::Kind kind) const {
      emulation::Block::Current().Touch(at_, sizeof(T), kind);
    }
    T* at_;
  };

  explicit Shared(T* at) : at_(at) {}

  Reference operator[](std::ptrdiff_t i) const { return Reference(at_ + i); }
  Reference operator*() const { return Reference(at_); }
  Shared operator+(std::ptrdiff_t n) const { return Shared(at_ + n); }
  T* address() const { return at_; }  // for the emulation

 private:
  T* at_;
};

template <class T, int kCount, class Tag>
Shared<T> StaticShared() {
  static constexpr char kTag = 0;  // its address is this instantiation's name
  return Shared<T>(
      reinterpret_cast<T*>(emulation::Block::Current().Static(&kTag, kCount * sizeof(T))));
}

template <class T>
Shared<T> DynamicShared(int at) {
  return Shared<T>(reinterpret_cast<T*>(
      emulation::Block::Current().Dynamic(static_cast<std::size_t>(at), sizeof(T))));
}

template <class U, class T>
Shared<U> As(Shared<T> shared) {
  return Shared<U>(reinterpret_cast<U*>(shared.address()));
}

namespace emulation {

// The old value; `next` makes the new one of it. Blocks and threads take turns, so global memory
// needs no more than this.
template <class T, class Next>
T Replace(T* at, const Next& next) {
  const T old = *at;
  *at = next(old);
  return old;
}
template <class T, class Next>
T Replace(Shared<T> at, const Next& next) {
  Block::Current().Touch(at.address(), sizeof(T), RaceCheck::Kind::kAtomic);
  return Replace(at.address(), next);
}
template <class P>
struct Pointee;
template <class T>
struct Pointee<T*> {
  using Type = T;
};
template <class T>
struct Pointee<Shared<T>> {
  using Type = T;
};
template <class P>
using PointeeOf = typename Pointee<P>::Type;

}  // namespace emulation

// NOLINTBEGIN: these names are CUDA's
template <class P>
emulation::PointeeOf<P> atomicAdd(P at, emulation::PointeeOf<P> value) {
  return emulation::Replace(at, [&](auto old) { return old + value; });
}
template <class P>
emulation::PointeeOf<P> atomicMax(P at, emulation::PointeeOf<P> value) {
  return emulation::Replace(at, [&](auto old) { return old < value ? value : old; });
}
template <class P>
emulation::PointeeOf<P> atomicCAS(P at, emulation::PointeeOf<P> expected,
                                  emulation::PointeeOf<P> value) {
  return emulation::Replace(at, [&](auto old) { return old == expected ? value : old; });
}
// NOLINTEND

template <class T>
void CopyAsync16(Shared<T> to, const T* from) {
  emulation::Block::Current().StartCopy({to.address(), from});
}
inline void CommitCopies() { emulation::Block::Current().CommitCopies(); }
template <int kNewest>
void WaitForCopies() {
  emulation::Block::Current().WaitForCopies(kNewest);
}

}  // namespace banyan::kernels::cuda
