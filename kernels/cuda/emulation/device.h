// device.h for a compiler of plain C++: kernels run on the CPU, by fibers (block.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/convert.h"
#include "kernels/cuda/emulation/matrices.h"
#include "kernels/cuda/emulation/mma.h"
#include "kernels/cuda/emulation/shared.h"
#include "kernels/cuda/emulation/types.h"
#include "kernels/cuda/emulation/warp.h"
#include "kernels/cuda/fragments.h"
#include "kernels/cuda/numbers.h"
#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

// Done when it returns, whatever the stream.
template <class... P, class... A>
void Launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes,
            Stream /*stream*/, A&&... arguments) {
  const std::tuple<P...> values(std::forward<A>(arguments)...);
  emulation::RunGrid({grid, block, shared_bytes}, [&] { std::apply(kernel, values); });
}

}  // namespace banyan::kernels::cuda
