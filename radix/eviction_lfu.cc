// The leaf that was matched least often; of equals, the least recently used one. A count is of
// what is in the tree: it ends with the node, and nothing ages it.
//
//   rank  | matches: 16 bits | latest use: 48 bits |
#include <algorithm>

#include "radix/eviction.h"

namespace banyan::radix {
namespace {

constexpr int kUseBits = 48;
constexpr Rank kMostMatches = 0xFFFF;

Rank Matches(Rank rank) { return rank >> kUseBits; }
Rank LatestUse(Rank rank) { return rank & ((Rank{1} << kUseBits) - 1); }
Rank Make(Rank matches, Rank use) { return matches << kUseBits | use; }

class Lfu final : public EvictionPolicy {
 public:
  Rank Enter(LogicalTime now, std::uint32_t) const override { return Make(0, now.uses); }
  Rank After(TouchKind touch, Rank rank, LogicalTime now) const override {
    const Rank more = touch == TouchKind::kMatched ? 1 : 0;
    return Make(std::min(Matches(rank) + more, kMostMatches), now.uses);
  }
  Rank AtLeast(Rank parent, Rank child) const override {
    return Make(std::max(Matches(parent), Matches(child)),
                std::max(LatestUse(parent), LatestUse(child)));
  }
  bool MayGrow(Rank rank) const override { return Matches(rank) == 0; }
};

}  // namespace

std::unique_ptr<EvictionPolicy> MakeLfu() { return std::make_unique<Lfu>(); }

}  // namespace banyan::radix
