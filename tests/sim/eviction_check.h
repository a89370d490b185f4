// Whether eviction, where it is LRU, takes what was used longest ago: a naive trie of whole pages,
// each with the time of its last use, against what the tree still has after pages were evicted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "tests/sim/stage.h"

namespace banyan::sim {

class EvictionCheck {
 public:
  explicit EvictionCheck(Stage& stage) : stage_(stage) {}

  // The client's first `tokens` tokens were published or given up, and perhaps what lies beside
  // them, where they end inside a page.
  void OnUse(const Client& client, std::int64_t tokens);
  // It was admitted with them.
  void OnMatch(const Client& client, std::int64_t tokens);
  // Called by the observer.
  void OnEvicted();
  void OnFlush(Realm realm) { realms_.erase(realm); }
  // After the uses of the latest Next: whoever could give up a page instead of those that were
  // evicted was used no earlier than they.
  void Check();

 private:
  struct Page {
    Tick used{0};  // it was, at least then
    // It, what is behind it, or what may share an edge with it: no later than then.
    Tick used_at_most{0};
    bool pinned = false;
    std::map<std::vector<TokenId>, std::unique_ptr<Page>> next;
  };
  void OnPrivateUse(const Client& client);
  void Pin(const Client& client);
  // Of `page`, which is cached, behind `path`: forgets what is not cached any more, and finds what
  // was used longest ago.
  void Visit(Page& page, NamespaceId name_space, std::vector<TokenId>& path);

  Stage& stage_;
  std::map<Realm, Page> realms_;
  bool evicted_ = false;    // since the latest Check
  Tick latest_evicted_{0};  // of Check: the latest use of what is gone
  Tick earliest_left_{0};   // and the earliest of what could have gone instead
};

}  // namespace banyan::sim
