// Everything that the parts of a simulation look at: the real scheduler, tree and pool, the fake
// model and clock, the requests' stories, and the trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/clock.h"
#include "radix/prefix_cache.h"
#include "scheduler/inbox.h"
#include "scheduler/scheduler.h"
#include "tests/sim/client.h"
#include "tests/sim/counts.h"
#include "tests/sim/scenario.h"
#include "tests/sim/slot_model.h"
#include "tests/sim/trace.h"
#include "tests/sim/workload.h"

namespace banyan::sim {

struct Stage {
  Stage(const Scenario& of, radix::Observer* observer)
      : scenario(of),
        cache(of.cache, observer),
        model(of.cache.page_size, of.cache.pages,
              of.cache.sharing == radix::Sharing::kPages ? of.scheduler.max_running : 0),
        inbox(of.max_queue) {}

  const Scenario scenario;
  FakeClock clock;
  Trace trace;
  Counts counts;
  radix::PrefixCache cache;
  SlotModel model;
  scheduler::Inbox inbox;
  std::deque<Client> clients;  // by id, from 1
  std::unique_ptr<scheduler::Scheduler> scheduler;
  std::int64_t step = 0;  // of the latest batch

  Client& operator[](RequestId id) {
    const auto index = static_cast<std::uint64_t>(id) - 1;
    Require(index < clients.size(), "request %d is nobody's", kNobody,
            static_cast<std::int64_t>(index) + 1);
    return clients[index];
  }
  Tick now() const { return clock.Now(); }
  // Tokens of a step that are left for prompts beside so many decodes.
  std::int64_t PromptRoom(std::int64_t decodes) const {
    const scheduler::Options& bounds = scenario.scheduler;
    const std::int64_t left = bounds.max_batch_tokens - decodes;
    if (decodes == 0) return left;
    std::int64_t others = -decodes;
    for (const Client& client : clients) others += client.running || client.waits() ? 1 : 0;
    const std::int64_t could_run = std::min(others, bounds.max_running - decodes);
    std::int64_t bound = bounds.mixed_prefill_tokens;
    for (std::int64_t n = decodes; n < could_run; n += decodes)
      bound += bounds.mixed_prefill_tokens;
    return std::min(left, bound);
  }
  std::int32_t page_size() const { return scenario.cache.page_size; }
  bool shares_slots() const { return scenario.cache.sharing == radix::Sharing::kSlots; }
  // What of so many tokens can be shared.
  std::int64_t Shared(std::int64_t tokens) const { return scenario.cache.Shared(tokens); }
  bool caching() const {
    return scenario.scheduler.prefix_caching == scheduler::PrefixCaching::kOn;
  }
  // How many tokens may come from the cache, were it admitted now. Pages hold no logits: of a
  // prompt that is scored only what was scored before.
  std::int64_t Useful(const Client& client) const {
    if (!caching()) return 0;
    if (client.request.score_prompt && client.high_water < client.prompt_tokens()) {
      return Shared(client.high_water);
    }
    return Shared(std::min(client.known() - 1, client.max_cached()));
  }
  // Tokens behind the exact ones that one step computes of it at most.
  std::int64_t MostLossy(const Client& client) const {
    if (client.keeping) {
      const std::int64_t room = client.keeping->limit - client.oracle.CountBefore(client.computed);
      return client.keeping->once ? scenario.scheduler.max_batch_tokens : room;
    }
    return std::min<std::int64_t>(
        scenario.scheduler.max_batch_tokens,
        std::max<std::int64_t>(client.request.kv_policy->window, page_size()));
  }
  // What it wants of the next step.
  std::int64_t Share(const Client& client) const {
    if (!client.request.kv_policy) return client.remaining();
    const std::int64_t exact = client.exact() - client.computed;
    return std::min(client.remaining(), exact > 0 ? exact : MostLossy(client));
  }
  // Pages that it may have at once: those of its exact tokens, and those that a step reads and
  // writes behind the window's first key, wherever that is in its page.
  std::int64_t MostPages(const Client& client) const {
    if (!client.request.kv_policy) return scenario.cache.pages;
    if (client.keeping) {
      if (client.keeping->once) return scenario.cache.pages;
      return Pages(client.oracle.CountBefore(client.computed) < client.computed
                       ? client.keeping->limit
                       : client.keeping->before());
    }
    const std::int64_t page = page_size();
    const std::int64_t sinks = (client.request.kv_policy->sinks + page - 1) / page;
    const std::int64_t window = std::max<std::int64_t>(client.request.kv_policy->window, 2);
    const std::int64_t span = window + MostLossy(client) - 1;
    return std::max(client.exact() / page, sinks) + (span + 2 * page - 2) / page;
  }
  // Of a prompt under a policy with a budget, together with what survives of it.
  std::int64_t PeakPages(const Keeping& keeping) const {
    if (!keeping.is_ever_due()) return Pages(keeping.prompt);
    return Pages(keeping.before()) + Pages(keeping.after(keeping.prompt));
  }
  // The most that it is promised.
  std::int64_t MostWanted(const Client& client) const {
    const auto& keeping = client.keeping;
    if (!keeping || !keeping->is_ever_due()) return Pages(client.known());
    return Pages(std::min(client.known(), keeping->before())) +
           Pages(keeping->after(client.known()));
  }
  // Of what it keeps, what its last token did not read.
  std::int64_t Unread(const Client& client) const {
    const std::int64_t tokens = client.high_water;
    if (!client.keeping || !client.keeping->choice.is_made() || tokens <= client.keeping->prompt)
      return 0;
    return std::max<std::int64_t>(Pages(tokens) - client.keeping->choice.pages, 0) * page_size();
  }
  std::int64_t Pages(std::int64_t slots) const { return (slots + page_size() - 1) / page_size(); }
  std::string NameOf(Realm realm) const {
    return scheduler::NamespaceName(Workload::TenantOf(realm, scenario.salts),
                                    Workload::SaltOf(realm, scenario.salts));
  }
  NamespaceId NamespaceOf(Realm realm) { return cache.OpenNamespace(NameOf(realm)); }
};

}  // namespace banyan::sim
