#include "radix/departed.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::radix {
namespace {

constexpr std::uint32_t kReuseBits = 4;
constexpr std::uint32_t kMost = (1U << kReuseBits) - 1;

std::uint64_t Scatter(std::uint64_t bits) {
  bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93;
  return bits ^ bits >> 32;
}

// Never 0. Each token is scattered by itself, with its place, so that none waits for the one
// before.
std::uint64_t HashAfter(std::uint64_t before, std::span<const TokenId> tokens) {
  std::uint64_t sum = before;
  std::uint64_t place = 0;
  for (const TokenId token : tokens) {
    place += 0x9E3779B97F4A7C15;
    sum += Scatter((place ^ static_cast<std::uint64_t>(token)) * 0xBF58476D1CE4E5B9);
  }
  return Scatter(sum) | 1;
}

// Without reuses.
std::uint32_t EntryOf(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32) >> kReuseBits << kReuseBits | 1U << 31;
}

}  // namespace

Departed::Departed(std::int32_t pages)
    : hashes_(static_cast<std::size_t>(pages)),
      lines_(static_cast<std::size_t>(kRememberedPools * pages) / Line().entries.size() + 1) {}

Departed::Alike Departed::Enter(NamespaceId name_space, PageId before,
                                std::span<const PageId> pages, std::span<const TokenId> tokens) {
  CHECK(!pages.empty());
  const std::size_t size = tokens.size() / pages.size();
  std::uint64_t hash = before == kNoPage ? Scatter(static_cast<std::uint64_t>(name_space) + 1)
                                         : hashes_[static_cast<std::size_t>(before)];
  Alike alike;
  for (const PageId page : pages) {
    const std::size_t from = static_cast<std::size_t>(alike.pages) * size;
    hash = HashAfter(hash, tokens.subspan(from, size));
    const std::uint32_t reuses = Recall(hash);
    if (alike.pages > 0 && reuses != alike.reuses) break;
    alike.reuses = reuses;
    ++alike.pages;
    hashes_[static_cast<std::size_t>(page)] = hash;
  }
  return alike;
}

std::uint32_t Departed::Recall(std::uint64_t hash) {
  const std::uint32_t entry = EntryOf(hash);
  for (const std::uint32_t known : LineOf(hash).entries) {
    if ((known & ~kMost) == entry) return std::min((known & kMost) + 1, kMost);
  }
  return 0;
}

void Departed::Leave(PageId page, std::uint32_t reuses) {
  const std::uint64_t hash = hashes_[static_cast<std::size_t>(page)];
  if (hash == 0) return;
  const std::uint32_t entry = EntryOf(hash);
  auto& line = LineOf(hash).entries;
  const auto same = std::find_if(line.begin(), line.end() - 1,
                                 [&](std::uint32_t known) { return (known & ~kMost) == entry; });
  std::copy_backward(line.begin(), same, same + 1);
  line[0] = entry | std::min(reuses, kMost);
}

}  // namespace banyan::radix
