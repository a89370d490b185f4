// Where a page of the pool is.
//
// Each page is in exactly one state; PrefixCache::CheckInvariants() implements this table:
//
//   state      who has it                             how it leaves
//   ---------  -------------------------------------  ------------------------------------------
//   free       nobody                                 Grow: copying or open
//   copying    a view, target of copy-on-write        copy done: open; view closed: free
//   open       a view, which writes it; other views   full: tree, private, or free* (the tree had
//              copy slots already written             it); view closed: tree (as a tail) or free*
//   private    a view; full but must not be shared    dropped, or view closed: free*; compacted and
//                                                     no longer full: open
//   tree       a node                                 evicted: free; flushed, replaced: free*, or
//                                                     detached while leased
//   detached   leases of a flushed path, and copies   the last of them gone: free
//              in flight that outlived their source
//   * detached, while copies in flight read it
#pragma once

#include <cstdint>

namespace banyan::radix {

enum class PageState : std::uint8_t { kFree, kCopying, kOpen, kPrivate, kTree, kDetached };
inline constexpr int kPageStates = 6;

}  // namespace banyan::radix
