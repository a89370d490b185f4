// Beginnings of pages to other pages.

#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 64;

// A block has one head's keys, or values, of one layer and copy: a plane.
__global__ void CopySlotsKernel(const SlotCopy* __restrict__ copies, PageView pages) {
  const SlotCopy copy = copies[blockIdx.x];
  const int planes = 2 * pages.kv_heads;
  const int layer = static_cast<int>(blockIdx.y) / planes;
  const int plane = static_cast<int>(blockIdx.y) % planes;
  const int kv_head = plane % pages.kv_heads;
  const bool is_value = plane >= pages.kv_heads;
  const std::int64_t after = is_value ? pages.values_after() : 0;
  const auto* from = reinterpret_cast<const uint2*>(
      pages.memory + pages.KeyAt(copy.from, layer, kv_head, 0) + after);
  auto* to =
      reinterpret_cast<uint2*>(pages.memory + pages.KeyAt(copy.to, layer, kv_head, 0) + after);
  const int units = copy.slots * (pages.slot_bytes / static_cast<int>(sizeof(uint2)));
  for (int i = threadIdx.x; i < units; i += kThreads) to[i] = from[i];
  if (pages.scale_bytes == 0) return;
  const int first = is_value ? pages.page_size : 0;
  const auto* from_scales =
      reinterpret_cast<const Half*>(pages.memory + pages.ScaleAt(copy.from, layer, kv_head, first));
  auto* to_scales =
      reinterpret_cast<Half*>(pages.memory + pages.ScaleAt(copy.to, layer, kv_head, first));
  for (int i = threadIdx.x; i < copy.slots; i += kThreads) to_scales[i] = from_scales[i];
}

}  // namespace

void CopySlots(Stream stream, const SlotCopy* copies, std::int32_t count, const PageView& pages) {
  if (count == 0) return;
  constexpr int kMaxGridY = 65535;
  const int planes = 2 * pages.kv_heads * pages.layers;
  Require(planes <= kMaxGridY, "CopySlots: more planes than a grid has");
  Launch(CopySlotsKernel, dim3(static_cast<unsigned>(count), static_cast<unsigned>(planes)),
         kThreads, 0, stream, copies, pages);
}

}  // namespace banyan::kernels::cuda
