// Which leaf gives up its last page next: the one with the lowest rank. A policy says how the rank
// of a node comes about; each is a file.
#pragma once

#include <cstdint>
#include <memory>

#include "radix/options.h"

namespace banyan::radix {

// All that a policy knows of a node. Lower ranks go first.
using Rank = std::uint64_t;

// Logical time: nothing here reads a clock.
struct LogicalTime {
  std::uint64_t uses = 0;   // counts what is matched or published; < 2^48
  std::uint64_t views = 0;  // counts views that were opened, about one for each request; < 2^48
};

enum class TouchKind : std::uint8_t {
  kMatched,   // a view began with it
  kExtended,  // pages were appended to it
  kFound,     // pages were to be published, and it had them
};

// Pure functions. No rank becomes lower by them; and a parent that is not below its child stays so
// when both are touched alike, so that only a child that was touched alone asks for AtLeast.
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  // Of a new node. `reuses`: how often its pages had been matched before they were evicted, and
  // that they came back; 0 when that is not remembered (departed.h).
  virtual Rank Enter(LogicalTime now, std::uint32_t reuses) const = 0;
  virtual Rank After(TouchKind touch, Rank rank, LogicalTime now) const = 0;
  // The rank of a parent whose child was touched: not below the child's.
  virtual Rank AtLeast(Rank parent, Rank child) const = 0;
  // Whether new pages may become part of a node of that rank: else they are a node of their own.
  virtual bool MayGrow(Rank rank) const = 0;
  virtual std::uint32_t Reuses(Rank) const { return 0; }  // to be remembered when it is evicted
};

std::unique_ptr<EvictionPolicy> MakePolicy(Eviction eviction);

// Each in a file of its name.
std::unique_ptr<EvictionPolicy> MakeLru();
std::unique_ptr<EvictionPolicy> MakeFifo();
std::unique_ptr<EvictionPolicy> MakeLfu();
std::unique_ptr<EvictionPolicy> MakeReuse();

// kReuse: a node counts as used so many views later than it was, for each time that it was matched
// again, or came back, up to so many times.
inline constexpr std::uint64_t kReuseViews = 300;
inline constexpr std::uint64_t kMostReuses = 8;

}  // namespace banyan::radix
