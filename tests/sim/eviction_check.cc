#include "tests/sim/eviction_check.h"

#include <algorithm>

namespace banyan::sim {
namespace {

std::vector<TokenId> PageAt(const Client& client, std::int64_t page, std::int32_t page_size) {
  const auto begin = client.oracle.tokens.begin() + page * page_size;
  return {begin, begin + page_size};
}

}  // namespace

void EvictionCheck::OnUse(const Client& client, std::int64_t tokens) {
  if (!client.publishes) {
    if (client.request.kv_policy) OnPrivateUse(client);
    return;
  }
  Page* page = &realms_[client.realm];
  for (std::int64_t i = 0; i < tokens / stage_.page_size(); ++i) {
    std::unique_ptr<Page>& next = page->next[PageAt(client, i, stage_.page_size())];
    if (next == nullptr) {
      next = std::make_unique<Page>();
      next->used = stage_.now();
    }
    page = next.get();
    page->used_at_most = stage_.now();
  }
  if (tokens % stage_.page_size() == 0) return;
  for (const auto& [key, beside] : page->next) beside->used_at_most = stage_.now();
}

// What it computes is its own now, but it pins what it shared, or some of that, until it ends.
void EvictionCheck::OnPrivateUse(const Client& client) {
  Page* page = &realms_[client.realm];
  const std::int64_t shared = std::min(client.computed, client.exact());
  for (std::int64_t i = 0; i < shared / stage_.page_size(); ++i) {
    const auto next = page->next.find(PageAt(client, i, stage_.page_size()));
    if (next == page->next.end()) return;
    page = next->second.get();
    page->used_at_most = stage_.now();
  }
}

void EvictionCheck::OnMatch(const Client& client, std::int64_t tokens) {
  OnUse(client, tokens);
  if (!client.publishes) return;
  Page* page = &realms_[client.realm];
  for (std::int64_t i = 0; i < tokens / stage_.page_size(); ++i) {
    page = page->next.at(PageAt(client, i, stage_.page_size())).get();
    page->used = stage_.now();
  }
}

void EvictionCheck::OnEvicted() {
  evicted_ = true;
  const radix::Stats stats = stage_.cache.stats();
  const std::int64_t free = stats.pages[static_cast<std::size_t>(radix::PageState::kFree)];
  Require(free == 0, "a page was evicted, and %d are free", kNobody, free);
}

void EvictionCheck::Pin(const Client& client) {
  Page* page = &realms_[client.realm];
  const std::int64_t tokens = std::min(client.computed, client.exact());
  for (std::int64_t i = 0; i < tokens / stage_.page_size(); ++i) {
    const auto next = page->next.find(PageAt(client, i, stage_.page_size()));
    if (next == page->next.end()) return;
    page = next->second.get();
    page->pinned = true;
  }
}

void EvictionCheck::Check() {
  if (!evicted_) return;
  evicted_ = false;
  if (stage_.scenario.cache.eviction != radix::Eviction::kLru) return;
  for (const Client& client : stage_.clients) {
    // One with a policy may have given up some of them; nothing is said of these then.
    if (client.running && (client.publishes || client.request.kv_policy)) Pin(client);
  }
  latest_evicted_ = Tick(0);
  earliest_left_ = Tick::max();
  std::vector<TokenId> path;
  for (auto& [realm, root] : realms_) Visit(root, stage_.NamespaceOf(realm), path);
  Require(earliest_left_ >= latest_evicted_,
          "a page that was used at %d ns was evicted, and one used at %d ns was not", kNobody,
          latest_evicted_.count(), earliest_left_.count());
}

void EvictionCheck::Visit(Page& page, NamespaceId name_space, std::vector<TokenId>& path) {
  for (auto next = page.next.begin(); next != page.next.end();) {
    path.insert(path.end(), next->first.begin(), next->first.end());
    const auto length = static_cast<std::int64_t>(path.size());
    Page& child = *next->second;
    if (stage_.cache.MatchLength(name_space, path) < length) {
      latest_evicted_ = std::max(latest_evicted_, child.used);
      next = page.next.erase(next);
    } else {
      Visit(child, name_space, path);
      if (!child.pinned && child.next.empty()) {
        earliest_left_ = std::min(earliest_left_, child.used_at_most);
      }
      child.pinned = false;
      ++next;
    }
    path.resize(path.size() - static_cast<std::size_t>(stage_.page_size()));
  }
}

}  // namespace banyan::sim
