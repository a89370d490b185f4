// KV pages that are sealed once they are full: the sealed ones, the page that each sequence still
// writes, and what a step computes of others, in f16.
//
//   a run of 40 tokens from position 20 on, pages of 16:
//
//     | 0 .. 15 | 16 .. 31 | 32 .. 47 | 48 .. 59 |
//       sealed    staged     staged     open          slots 16..19 are copied from the open page
//
// The last page of a run is the open page of its sequence. Those before it are staged, for one
// layer at a time, and sealed as the run is stored; the open page is sealed as well when it is
// full. What a query reads of its own page is in f16, staged or open, and all earlier pages are
// sealed: the same numbers however its prompt was cut into runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/sealed_pages.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class SealedKv {
 public:
  // Once. As SealedPages::Allocate; at least one open page. False when the memory cannot be had.
  bool Allocate(const KvShape& shape);

  const KvShape& shape() const { return sealed_.shape(); }
  bool allocated() const { return shape().pages > 0; }
  SealedPages& sealed() { return sealed_; }
  const SealedPages& sealed() const { return sealed_; }

  // A page in f16.
  struct Place {
    const PageStore* store = nullptr;
    std::int32_t page = 0;
    std::int32_t layer = 0;
  };
  // A page of a run that is full.
  struct Full {
    Place from;
    std::int32_t page = 0;  // of the sealed ones
  };

  // Rows of these runs are about to be stored in `layer`, each run with an open page of its own;
  // nothing stored of runs before is read any more but what is sealed, and open. Throws
  // std::bad_alloc.
  void Begin(std::span<const RowRun> runs, std::int32_t layer);
  // A head's key and value at a position of run number `run`; of different ones at once.
  void Store(const Ops& ops, const float* key, const float* value, std::size_t run,
             std::int64_t position, std::int32_t kv_head);
  // Of the runs, once all their rows are stored: each is to be sealed in every head.
  std::span<const Full> full() const { return full_; }
  void Seal(const Ops& ops, const Full& full, std::int32_t kv_head);

  // Where page number `page` of run number `run`, one that its rows are in, is. Of the runs of the
  // last Begin, or of ones that are in one page each.
  Place Own(std::span<const RowRun> runs, std::size_t run, std::int64_t page,
            std::int32_t layer) const;

 private:
  // Of a run: its pages from `first` on but the last are staged, from number `staged` on.
  struct Staged {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int32_t staged = 0;
    std::int32_t open = 0;
  };
  Staged PagesOf(const RowRun& run) const;
  void Reserve(std::int32_t pages);
  Place PlaceOf(const Staged& run, std::int64_t page, std::int32_t layer) const;

  SealedPages sealed_;
  PageStore open_;     // all layers
  PageStore staging_;  // one layer
  // Of the current runs.
  std::int32_t layer_ = 0;
  std::vector<Staged> runs_;
  std::vector<Full> full_;
};

}  // namespace banyan::kernels
