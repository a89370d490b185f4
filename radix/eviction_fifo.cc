// The leaf whose last page entered first. A rank is the time at which it did.
#include <algorithm>

#include "radix/eviction.h"

namespace banyan::radix {
namespace {

class Fifo final : public EvictionPolicy {
 public:
  Rank Enter(LogicalTime now, std::uint32_t) const override { return now.uses; }
  Rank After(TouchKind touch, Rank rank, LogicalTime now) const override {
    return touch == TouchKind::kExtended ? now.uses : rank;
  }
  Rank AtLeast(Rank parent, Rank child) const override { return std::max(parent, child); }
  bool MayGrow(Rank) const override { return true; }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeFifo() { return std::make_unique<Fifo>(); }

}  // namespace banyan::radix
