#include "tests/sim/keep_check.h"

#include <span>

namespace banyan::sim {

std::int64_t KeepCheck::Cached(const Client& client, std::int64_t most) {
  return stage_.cache.MatchLength(
      stage_.NamespaceOf(client.realm),
      std::span(client.oracle.tokens).first(static_cast<std::size_t>(most)));
}

std::int64_t KeepCheck::WholePages(std::int64_t tokens) const {
  return tokens / stage_.page_size() * stage_.page_size();
}

void KeepCheck::OnGivenUp(const Client& client) {
  if (!client.running || !client.publishes) return;
  // A page that is filled in part is kept, too, unless a step failed or the copy that it begins
  // with was never made, or pages are shared whole.
  const bool wrote =
      client.computed > client.began_with && !client.in_failed_step && stage_.shares_slots();
  const std::int64_t kept = wrote ? client.computed : WholePages(client.computed);
  const std::int64_t cached = Cached(client, client.computed);
  Require(cached >= kept, "gives up its pages with %d tokens computed, and %d are cached then",
          client.id, kept, cached);
}

void KeepCheck::AfterNext(const std::vector<Client*>& admitted) {
  for (const Client* client : admitted) {
    if (client->just_admitted) continue;  // what it may have is what was ever computed
    const std::int64_t cached = Cached(*client, stage_.Useful(*client));
    Require(client->computed >= WholePages(cached), "resumes with %d tokens, and %d are cached",
            client->id, client->computed, cached);
  }
}

}  // namespace banyan::sim
