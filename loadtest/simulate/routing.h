// Which replica gets a request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace banyan::loadtest {

enum class Routing : std::uint8_t {
  kRoundRobin,
  kLeastLoaded,     // fewest requests waiting and running; of equals, the first
  kPrefixAware,     // the longest cached prefix, unless that replica is much busier than another
  kConsistentHash,  // of the conversation's first tokens, with bounded loads
};
std::string_view Name(Routing routing);  // "round-robin", "least-loaded", "prefix", "hash"
std::optional<Routing> ParseRouting(std::string_view name);

// kPrefixAware: a replica is much busier with more than twice the requests of the least busy one,
// and this many more.
inline constexpr std::int64_t kBusierBy = 4;
// kConsistentHash: places of each replica on the ring, how many tokens are hashed, and how much of
// the mean load a replica may have (the c of Mirrokni, Thorup, Zadimoghaddam: "Consistent Hashing
// with Bounded Loads", SODA 2018).
inline constexpr std::int32_t kPlaces = 64;
inline constexpr std::size_t kHashedTokens = 1024;
inline constexpr double kMostLoad = 1.25;

class Router {
 public:
  Router(Routing routing, std::int32_t replicas);

  // `load`: requests that wait and run, by replica. `beginning`: the first tokens of the request's
  // conversation. `cached` says how many tokens of the request a replica has; asked only by
  // kPrefixAware.
  std::int32_t Pick(std::span<const std::int64_t> load, std::span<const TokenId> beginning,
                    const std::function<std::int64_t(std::int32_t)>& cached);

 private:
  std::int32_t ByPrefix(std::span<const std::int64_t> load,
                        const std::function<std::int64_t(std::int32_t)>& cached) const;
  std::int32_t ByHash(std::span<const std::int64_t> load, std::span<const TokenId> beginning) const;

  const Routing routing_;
  std::int32_t next_ = 0;
  std::vector<std::pair<std::uint64_t, std::int32_t>> ring_;  // by place; (place, replica)
};

}  // namespace banyan::loadtest
