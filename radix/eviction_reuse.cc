// The least recently used leaf first, where each reuse that a leaf has seen counts as kReuseViews
// views of later use. Most prompts are never seen again, and under LRU they push out the few that
// are; what was matched twice is likely to be matched again. What was evicted is remembered for a
// while (departed.h): in a small pool much of what is reused is gone before it is.
//
//   rank  | latest use, and what its reuses add: 60 bits, in views | reuses: 4 bits |
#include <algorithm>

#include "radix/eviction.h"

namespace banyan::radix {
namespace {

constexpr int kReuseBits = 4;
static_assert(kMostReuses < 1 << kReuseBits);

Rank Until(Rank rank) { return rank >> kReuseBits; }
Rank Count(Rank rank) { return rank & ((Rank{1} << kReuseBits) - 1); }
Rank Make(Rank until, Rank reuses) { return until << kReuseBits | reuses; }

class Reuse final : public EvictionPolicy {
 public:
  Rank Enter(LogicalTime now, std::uint32_t reuses) const override {
    const Rank counted = std::min<Rank>(reuses, kMostReuses);
    return Make(now.views + kReuseViews * counted, counted);
  }
  Rank After(TouchKind touch, Rank rank, LogicalTime now) const override {
    const Rank more = touch == TouchKind::kMatched ? 1 : 0;
    const Rank reuses = std::min(Count(rank) + more, kMostReuses);
    return Make(std::max(Until(rank), now.views + kReuseViews * reuses), reuses);
  }
  Rank AtLeast(Rank parent, Rank child) const override {
    return Make(std::max(Until(parent), Until(child)), std::max(Count(parent), Count(child)));
  }
  bool MayGrow(Rank rank) const override { return Count(rank) == 0; }
  std::uint32_t Reuses(Rank rank) const override { return static_cast<std::uint32_t>(Count(rank)); }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeReuse() { return std::make_unique<Reuse>(); }

}  // namespace banyan::radix
