// Objects of a rendering, kept by whoever refers to them. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "text/jinja/budget.h"

namespace banyan::text::jinja {

// Counted by the values that refer to it.
class Object {
 public:
  // `held` bytes are in the budget already, and given back in the end.
  Object(Budget& budget, std::size_t held) : budget_(&budget), held_(held) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() { budget_->Release(held_); }

  void Retain() { ++references_; }
  void Release() {
    if (--references_ == 0) delete this;
  }
  Budget& budget() const { return *budget_; }

 protected:
  void HoldMore(std::size_t bytes) {
    budget_->Hold(bytes);
    held_ += bytes;
  }

 private:
  Budget* budget_;
  std::size_t held_;
  std::uint32_t references_ = 0;
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->Retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->Release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace banyan::text::jinja
