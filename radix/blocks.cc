#include "radix/blocks.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "base/check.h"

namespace banyan::radix {

namespace {

std::byte* Map(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(at != MAP_FAILED);
  return static_cast<std::byte*>(at);
}

}  // namespace

void FreeSlab::operator()(std::byte* slab) const { CHECK(munmap(slab, bytes) == 0); }

Slab NewFirstSlab() { return Slab(Map(kFirstSlabBytes), {kFirstSlabBytes}); }

Slab NewSlab() {
  // Twice as much has a border of huge pages in it; what lies around the slab is given back.
  std::byte* const mapped = Map(2 * kSlabBytes);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(mapped) % kSlabBytes;
  Slab slab(mapped + before, {kSlabBytes});
  if (before > 0) CHECK(munmap(mapped, before) == 0);
  if (before < kSlabBytes) {
    CHECK(munmap(slab.get() + kSlabBytes, kSlabBytes - before) == 0);
  }
  // Advice: where there are no huge pages all is as before.
  (void)madvise(slab.get(), kSlabBytes, MADV_HUGEPAGE);
  return slab;
}

Blocks::~Blocks() {
  for (const Slab& slab : slabs_) {
    ASAN_UNPOISON_MEMORY_REGION(slab.get(), slab.get_deleter().bytes);
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
