#include "tests/sim/share_check.h"

#include <algorithm>
#include <span>
#include <utility>

#include "scheduler/request_state.h"

namespace banyan::sim {
namespace {

std::span<const TokenId> Known(const Client& client) {
  return std::span(client.oracle.tokens).first(static_cast<std::size_t>(client.known()));
}

}  // namespace

void ShareCheck::OnAdmitted(const Client& client) {
  const std::int64_t cached = client.cached;
  const std::int64_t useful = std::min(client.prompt_tokens() - 1, client.max_cached());
  Require(cached >= 0 && cached <= useful, "has %d tokens cached of %d", client.id, cached,
          client.prompt_tokens());
  if (!stage_.caching() || client.request.score_prompt) {
    Require(cached == 0, "was given %d tokens, and must compute all", client.id, cached);
    return;
  }
  const std::int64_t known =
      stage_.Shared(std::min(Of(client.realm).knowledge.Match(client.request.prompt), useful));
  Require(cached <= known, "has %d tokens cached, but only %d were ever computed", client.id,
          cached, known);
  if (IsExact(client.realm)) {
    Require(cached == known, "has %d tokens cached, but %d were computed and nothing was lost",
            client.id, cached, known);
    ++stage_.counts.exact_hits;
  }
  const std::int64_t offered =
      stage_.cache.PreviewOpen(stage_.NamespaceOf(client.realm), client.request.prompt, useful)
          .tokens;
  // Where a copy's source would be the page too many, whole pages alone are taken.
  Require(cached == offered || (!stage_.scenario.ample &&
                                cached == offered / stage_.page_size() * stage_.page_size()),
          "has %d tokens cached, and the cache offers %d", client.id, cached, offered);
}

// Of the tokens that either may get from another.
std::int64_t ShareCheck::Common(const Client& producer, const Client& client) const {
  const auto least = static_cast<std::size_t>(
      std::min({producer.known(), producer.exact(), stage_.Useful(client)}));
  const auto a = Known(producer).first(least);
  const auto b = Known(client).first(least);
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return stage_.Shared(differ.first - a.begin());
}

void ShareCheck::CheckRendezvous(const std::vector<Client*>& admitted) {
  for (const Client* newcomer : admitted) {
    const Client& client = *newcomer;
    for (const Client& producer : stage_.clients) {
      if (!producer.running || !producer.prefill || producer.realm != client.realm ||
          !producer.publishes || &producer == &client) {
        continue;
      }
      std::int64_t common = Common(producer, client);
      if (producer.admitted_step == client.admitted_step) {  // either of the two came first
        common = std::min(common, stage_.Useful(producer));
      }
      // Where a copy's source would be the page too many, whole pages alone are taken.
      if (!stage_.scenario.ample && client.computed % stage_.page_size() == 0 &&
          common - client.computed < stage_.page_size()) {
        continue;
      }
      Require(common <= std::max(producer.computed, client.computed),
              "runs from token %d, and request %d, which has %d, is about to compute %d of its own",
              client.id, client.computed, static_cast<std::int64_t>(producer.id), producer.computed,
              common);
    }
  }
}

void ShareCheck::CheckFollowers() {
  for (Client& client : stage_.clients) {
    if (!client.waits()) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    if (!status || status->state != scheduler::RequestState::kFollowing) {
      CheckReleased(client, std::exchange(client.producer, kNobody));
      continue;
    }
    if (!client.followed) ++stage_.counts.followed;
    client.followed = true;
    Require(stage_.Useful(client) > 0, "follows, and may not have what it waits for", client.id);
    Require(status->producer.has_value(), "follows nobody", client.id);
    const Client& producer = stage_[*status->producer];
    const auto number = static_cast<std::int64_t>(producer.id);
    // That nothing more will be published is noticed when its next step comes back.
    Require(producer.running && producer.prefill && !producer.kept_private &&
                producer.realm == client.realm,
            "follows request %d, which brings nothing", client.id, number);
    Require(producer.ask == Ask::kNothing || producer.in_flight,
            "follows request %d, which was cancelled", client.id, number);
    const std::int64_t common = Common(producer, client);
    if (client.producer != producer.id) {  // from this call on
      client.producer = producer.id;
      const std::int64_t offered =
          stage_.cache
              .PreviewOpen(stage_.NamespaceOf(client.realm), Known(client), stage_.Useful(client))
              .tokens;
      Require(offered < common, "follows request %d for %d tokens, and %d are cached", client.id,
              number, common, offered);
    }
    Require(common > producer.computed,
            "follows request %d, which has computed all %d tokens that they share", client.id,
            number, common);
  }
}

// It followed, and waits again: it was served, or who it followed brings no more.
void ShareCheck::CheckReleased(const Client& client, RequestId id) {
  if (id == kNobody) return;
  const Client& producer = stage_[id];
  if (!producer.running || !producer.prefill || !producer.publishes ||
      producer.ask != Ask::kNothing) {
    return;
  }
  Require(Common(producer, client) <= producer.computed,
          "does not follow request %d any more, which has %d tokens of %d that they share",
          client.id, static_cast<std::int64_t>(id), producer.computed, Common(producer, client));
}

void ShareCheck::OnComputed(Client& client, std::int64_t tokens) {
  if (!client.publishes) {
    client.kept_private = true;
    return;
  }
  RealmState& realm = Of(client.realm);
  const std::int64_t first = client.computed - tokens;
  if (client.node == Knowledge::kNone) {
    client.node = realm.knowledge.Walk(
        std::span(client.oracle.tokens).first(static_cast<std::size_t>(first)));
  }
  for (std::int64_t at = first; at < client.computed; ++at) {
    client.node =
        realm.knowledge.Step(client.node, client.oracle.tokens[static_cast<std::size_t>(at)]);
    Knowledge::Node& node = realm.knowledge[client.node];
    // The last token of a prompt is computed in any case; where whole pages are shared, so are
    // those in its page, and for all tokens of a page stands its last one.
    const bool is_shared =
        at < stage_.Shared(client.prompt_tokens() - 1) && !client.request.score_prompt;
    const bool stands = stage_.shares_slots() || (at + 1) % stage_.page_size() == 0;
    if (is_shared && stands && IsExact(client.realm) && node.computed_in >= 0) {
      Require(node.computed_in >= client.admitted_step && !node.by_prefill,
              "computed token %d of its prompt, which step %d had computed for request %d",
              client.id, at, node.computed_in, static_cast<std::int64_t>(node.computed_for));
    }
    if (node.computed_in < 0) {
      node.computed_in = stage_.step;
      node.computed_for = client.id;
    }
    if (is_shared) node.by_prefill = true;
  }
}

void ShareCheck::OnFlush(Realm realm) {
  RealmState& state = Of(realm);
  state.knowledge.Forget();
  state.is_whole = true;  // of what is known now, nothing was lost
  for (Client& client : stage_.clients) {
    if (client.realm != realm || !client.running) continue;
    client.publishes = false;
    client.node = Knowledge::kNone;
  }
}

}  // namespace banyan::sim
