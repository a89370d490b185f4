#include "radix/eviction.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::radix {

std::string_view Name(Eviction eviction) {
  switch (eviction) {
    case Eviction::kLru:
      return "lru";
    case Eviction::kFifo:
      return "fifo";
    case Eviction::kLfu:
      return "lfu";
    case Eviction::kReuse:
      return "reuse";
  }
  CHECK(false);
}

std::optional<Eviction> ParseEviction(std::string_view name) {
  const auto found = std::find_if(kEvictions.begin(), kEvictions.end(),
                                  [&](Eviction eviction) { return Name(eviction) == name; });
  if (found == kEvictions.end()) return std::nullopt;
  return *found;
}

std::unique_ptr<EvictionPolicy> MakePolicy(Eviction eviction) {
  switch (eviction) {
    case Eviction::kLru:
      return MakeLru();
    case Eviction::kFifo:
      return MakeFifo();
    case Eviction::kLfu:
      return MakeLfu();
    case Eviction::kReuse:
      return MakeReuse();
  }
  CHECK(false);
}

}  // namespace banyan::radix
