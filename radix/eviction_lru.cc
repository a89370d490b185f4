// The least recently used leaf first (RadixAttention, arXiv:2312.07104). A rank is the latest use.
#include <algorithm>

#include "radix/eviction.h"

namespace banyan::radix {
namespace {

class Lru final : public EvictionPolicy {
 public:
  Rank Enter(LogicalTime now, std::uint32_t) const override { return now.uses; }
  Rank After(TouchKind, Rank, LogicalTime now) const override { return now.uses; }
  Rank AtLeast(Rank parent, Rank child) const override { return std::max(parent, child); }
  bool MayGrow(Rank) const override { return true; }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeLru() { return std::make_unique<Lru>(); }

}  // namespace banyan::radix
