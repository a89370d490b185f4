#include "radix/blocks.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <new>

#include "base/check.h"

namespace banyan::radix {

Slab NewFirstSlab() {
  constexpr std::size_t kLine = 64;
  Slab slab(static_cast<std::byte*>(std::aligned_alloc(kLine, kFirstSlabBytes)));
  CHECK(slab != nullptr);
  return slab;
}

Slab NewSlab() {
  // At a border of small pages: one of huge pages would cost as much again before it.
  constexpr std::size_t kPage = 4096;
  Slab slab(static_cast<std::byte*>(std::aligned_alloc(kPage, kSlabBytes)));
  CHECK(slab != nullptr);
  // Advice: where there are no huge pages all is as before.
  (void)madvise(slab.get(), kSlabBytes, MADV_HUGEPAGE);
  return slab;
}

Blocks::~Blocks() {
  for (const Slab& slab : slabs_) {
    ASAN_UNPOISON_MEMORY_REGION(slab.get(), slab == slabs_.front() ? kFirstSlabBytes : kSlabBytes);
  }
}

void* Blocks::Allocate(std::size_t bytes) {
  DCHECK(bytes > 0);
  if (bytes > kMaxBytes) return ::operator new(bytes);
  const std::size_t units = (bytes + kUnit - 1) / kUnit;
  Unused* const block = unused_[units];
  if (block == nullptr) return Cut(units * kUnit);
  ASAN_UNPOISON_MEMORY_REGION(block, units * kUnit);
  unused_[units] = block->next;
  return block;
}

void Blocks::Free(void* block, std::size_t bytes) {
  if (bytes > kMaxBytes) {
    ::operator delete(block);
    return;
  }
  const std::size_t units = (bytes + kUnit - 1) / kUnit;
  unused_[units] = new (block) Unused{unused_[units]};
  ASAN_POISON_MEMORY_REGION(block, units * kUnit);
}

void* Blocks::Cut(std::size_t bytes) {
  if (size_ - used_ < bytes) {  // what was left, less than the largest block, is not used
    size_ = slabs_.empty() ? kFirstSlabBytes : kSlabBytes;
    slabs_.push_back(slabs_.empty() ? NewFirstSlab() : NewSlab());
    used_ = 0;
  }
  void* const block = slabs_.back().get() + used_;
  used_ += bytes;
  return block;
}

}  // namespace banyan::radix
