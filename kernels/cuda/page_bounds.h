// The bounds of the keys of pages (kernels/page_choice.h) in the device's memory, by number of the
// page: computed when a step first may choose the page, forgotten when it is written.
//
// Pages that were whole before a step are computed in all layers at its beginning, those that it
// fills layer by layer, behind its keys; and as whole ones by the next step.
//
// Memory: none until a choice is made; then BoundsBytes for every page of the store.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/page_memory.h"
#include "kernels/cuda/staging.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

class PageBounds {
 public:
  explicit PageBounds(Staging& staging) : staging_(staging) {}

  // The store is another.
  void Reset();
  void Written(std::int32_t page);

  // A step begins, which writes the keys of its rows. Throws std::bad_alloc.
  void Begin(std::span<const RowRun> runs, const PageMemory& pages, Stream stream);
  // Bounds of all pages that rows of the step choose among, once the layer's keys are written.
  const BoundsView& Read(const PageMemory& pages, std::int32_t layer, Stream stream);

 private:
  void List(const RowRun& run, std::int32_t page_size);

  Staging& staging_;
  DeviceBuffer memory_;
  BoundsView view_;
  std::vector<bool> known_;            // by page; empty: no choice was ever made
  std::vector<std::int32_t> unknown_;  // of the step: whole before it
  std::vector<std::int32_t> filled_;   // by it
  DeviceBuffer device_unknown_;
  DeviceBuffer device_filled_;
};

}  // namespace banyan::kernels::cuda
