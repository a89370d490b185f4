#include "loadtest/simulate/routing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/check.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"round-robin", "least-loaded", "prefix",
                                                    "hash"};

std::int32_t LeastLoaded(std::span<const std::int64_t> load) {
  return static_cast<std::int32_t>(std::min_element(load.begin(), load.end()) - load.begin());
}

std::uint64_t Hash(std::span<const TokenId> tokens) {
  std::uint64_t hash = tokens.size();
  for (const TokenId token : tokens) hash = HashKey(hash, static_cast<std::uint64_t>(token));
  return hash;
}

}  // namespace

std::string_view Name(Routing routing) { return kNames.at(static_cast<std::size_t>(routing)); }

std::optional<Routing> ParseRouting(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Routing>(found - kNames.begin());
}

Router::Router(Routing routing, std::int32_t replicas) : routing_(routing) {
  CHECK(replicas >= 1);
  if (routing != Routing::kConsistentHash) return;
  for (std::int32_t replica = 0; replica < replicas; ++replica) {
    for (std::int32_t place = 0; place < kPlaces; ++place) {
      ring_.emplace_back(
          HashKey(static_cast<std::uint64_t>(replica), static_cast<std::uint64_t>(place)), replica);
    }
  }
  std::sort(ring_.begin(), ring_.end());
}

std::int32_t Router::Pick(std::span<const std::int64_t> load, std::span<const TokenId> beginning,
                          const std::function<std::int64_t(std::int32_t)>& cached) {
  switch (routing_) {
    case Routing::kRoundRobin: {
      const std::int32_t picked = next_;
      next_ = (next_ + 1) % static_cast<std::int32_t>(load.size());
      return picked;
    }
    case Routing::kLeastLoaded:
      return LeastLoaded(load);
    case Routing::kPrefixAware:
      return ByPrefix(load, cached);
    case Routing::kConsistentHash:
      return ByHash(load, beginning);
  }
  CHECK(false);
}

// Of equally long ones, the least loaded; of these, the first.
std::int32_t Router::ByPrefix(std::span<const std::int64_t> load,
                              const std::function<std::int64_t(std::int32_t)>& cached) const {
  const std::int32_t idlest = LeastLoaded(load);
  const std::int64_t least = load[static_cast<std::size_t>(idlest)];
  std::int32_t best = idlest;
  std::int64_t longest = cached(idlest);
  for (std::int32_t replica = 0; replica < std::ssize(load); ++replica) {
    const std::int64_t own = load[static_cast<std::size_t>(replica)];
    if (own > 2 * least + kBusierBy) continue;
    const std::int64_t tokens = cached(replica);
    if (tokens < longest) continue;
    if (tokens == longest && own >= load[static_cast<std::size_t>(best)]) continue;
    best = replica;
    longest = tokens;
  }
  return best;
}

// The first place at or after the hash whose replica is not full. One always is not: together the
// bounds are more than the requests.
std::int32_t Router::ByHash(std::span<const std::int64_t> load,
                            std::span<const TokenId> beginning) const {
  const std::int64_t all = std::accumulate(load.begin(), load.end(), std::int64_t{1});
  const auto most = static_cast<std::int64_t>(
      std::ceil(kMostLoad * static_cast<double>(all) / static_cast<double>(load.size())));
  const std::pair place(Hash(beginning), std::int32_t{0});
  const auto from = std::lower_bound(ring_.begin(), ring_.end(), place) - ring_.begin();
  for (std::ptrdiff_t i = 0; i < std::ssize(ring_); ++i) {
    const auto at = static_cast<std::size_t>((from + i) % std::ssize(ring_));
    const std::int32_t replica = ring_[at].second;
    if (load[static_cast<std::size_t>(replica)] < most) return replica;
  }
  CHECK(false);
}

}  // namespace banyan::loadtest
