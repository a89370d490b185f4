// Bytes of pages outside the page pool, in host memory, as batches save and restore them. As much
// memory is held as pages are put aside: their number is bounded by who makes the batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/batch.h"
#include "model/model.h"

namespace banyan::model {

class PutAside {
 public:
  // What the batch forgets, saves and restores. Throws std::bad_alloc where there is no memory.
  void Move(const Batch& batch, Model& model);

  std::int64_t bytes() const;  // of memory that is held

 private:
  std::vector<std::byte>& At(std::int32_t place);

  std::vector<std::vector<std::byte>> places_;  // empty where nothing is
};

}  // namespace banyan::model
