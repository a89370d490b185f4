// A model without arithmetic. Each slot of its pages holds (realm, position, token, hash of the
// path up to it), the hash made from what it reads back from the slot before; what it samples is a
// hash of all that it reads back through the page table. A page that is wrong, stale, shared too
// early or freed too early changes a token.
//
// With open pages it is one whose pages are sealed when they are full: what is not full yet of a
// sequence is in its open page, and nothing in the one that the table names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "tests/sim/keeping.h"
#include "tests/sim/path.h"

namespace banyan::sim {

class SlotModel {
 public:
  SlotModel(std::int32_t page_size, std::int32_t pages, std::int32_t open_pages = 0);

  // What the batch forgets and saves: before the pages are poisoned that were given up for it.
  void Save(const Batch& batch);
  // What else is done before the rows of the same batch, in the order of batch.h.
  void Prepare(const Batch& batch);
  // Writes the rows, then answers. `realm_of` says who asks.
  using RealmOf = std::function<Realm(RequestId)>;
  StepResult Forward(const Batch& batch, const RealmOf& realm_of);
  // As Forward, but what it writes, copies too, is garbage, and it says so.
  StepResult Fail(const Batch& batch);

  void Poison(PageId page);

  const Slot& At(std::span<const PageId> pages, std::int64_t slot, PageGap gap = {}) const {
    return slots_[Index(pages, slot, gap)];
  }
  // The first of `slots` that is another than it should be, of those that the table names; -1 when
  // there is none. Where there are open pages the last ones that are not whole pages are in
  // `open_page`.
  std::int64_t FirstWrong(std::span<const PageId> pages, std::span<const Slot> slots,
                          PageGap gap = {}, std::int32_t open_page = 0) const;

  std::int64_t computed() const { return computed_; }  // tokens, of all steps
  std::int64_t pages_aside() const { return std::ssize(aside_); }

 private:
  std::size_t Index(std::span<const PageId> pages, std::int64_t slot, PageGap gap) const {
    const PageId page = pages[gap.place(slot / page_size_)];
    return static_cast<std::size_t>(std::int64_t{page} * page_size_ + slot % page_size_);
  }
  // The same of a sequence with so many valid slots: those of the last one's page are in the open
  // page, where there is one.
  std::size_t Index(const Sequence& sequence, std::int64_t slot, std::int64_t slots) const;
  std::size_t OpenIndex(std::int32_t open_page, std::int64_t slot) const {
    const std::int64_t page = std::int64_t{pages_} + open_page;
    return static_cast<std::size_t>(page * page_size_ + slot % page_size_);
  }
  void Seal(const Sequence& sequence, std::int64_t page);
  void Compact(const kernels::KvCompaction& compaction);
  void Observe(const Sequence& sequence, std::int64_t slot);
  void Write(const Sequence& sequence, Realm realm);
  SequenceResult Answer(const Sequence& sequence) const;
  void Scores(const Sequence& sequence, std::vector<ScoredToken>& scores) const;

  const std::int32_t page_size_;
  const std::int32_t pages_;
  const std::int32_t open_pages_;  // their slots are behind those of the pages
  std::vector<Slot> slots_;
  std::map<std::int32_t, Notes> observers_;
  std::map<std::int32_t, std::vector<Slot>> aside_;  // pages, by place
  std::int64_t computed_ = 0;
};

}  // namespace banyan::sim
