// From a type that a call names to the instantiation for it.
#pragma once

#include "kernels/cuda/numbers.h"
#include "kernels/require.h"

namespace banyan::kernels::cuda {

// call(T()) of the type's T.
template <class Call>
void ForType(NumberType type, const Call& call) {
  switch (type) {
    case NumberType::kF32:
      return call(float{});
    case NumberType::kF16:
      return call(Half{});
    case NumberType::kBf16:
      return call(Bf16{});
  }
  RequireFailed("a type of numbers that is none");
}

}  // namespace banyan::kernels::cuda
