#include "tests/sim/order_check.h"

#include <algorithm>
#include <map>
#include <span>

#include "scheduler/request_state.h"

namespace banyan::sim {

using scheduler::RequestState;

std::int32_t OrderCheck::Aged(const Client& client) const {
  const auto gained = (stage_.now() - client.since) / stage_.scenario.scheduler.ageing;
  return static_cast<std::int32_t>(std::min<std::int64_t>(client.request.priority + gained,
                                                          std::int64_t{scheduler::kMaxPriority}));
}

std::int64_t OrderCheck::Cached(const Client& client) {
  return stage_.cache.MatchLength(
      stage_.NamespaceOf(client.realm),
      std::span(client.oracle.tokens).first(static_cast<std::size_t>(stage_.Useful(client))));
}

std::vector<Client*> OrderCheck::Queue() {
  std::vector<Client*> queue;
  for (Client& client : stage_.clients) {
    if (!client.waits()) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    if (status && status->state == RequestState::kWaiting) queue.push_back(&client);
  }
  return queue;
}

void OrderCheck::BeforeNext() {
  preempted_ = 0;
  ambiguous_ = false;
  ranks_.clear();
  has_followers_.clear();
  wanted_ = 0;
  available_ = stage_.cache.available_pages() - stage_.scheduler->stats().reserved_pages;
  for (const Client& client : stage_.clients) {
    if (!client.running) continue;
    ranks_[client.id] = Aged(client);
    if (WantsPage(client)) ++wanted_;
  }
  for (const Client& client : stage_.clients) {
    if (!client.waits()) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    if (!status->producer) continue;
    has_followers_.insert(*status->producer);
    std::int32_t& rank = ranks_[*status->producer];
    rank = std::max(rank, Aged(client));
  }
}

// Whether its next token takes a page that nobody promised it: what survives was promised, and all
// that it comes to hold if that is bounded.
bool OrderCheck::WantsPage(const Client& client) const {
  if (client.prefill) return false;
  const std::int64_t slots = client.oracle.CountBefore(client.computed);
  const bool was_compacted = slots < client.computed;
  if (was_compacted && !client.keeping->once) return false;
  return slots % stage_.page_size() == 0 && !client.oracle.IsCompactedBefore(client.computed);
}

// Only for want of a page, and whoever ranks last: of the lowest priority, the youngest.
void OrderCheck::OnPreempted(const Client& client) {
  ++preempted_;
  if (has_followers_.contains(client.id)) ++stage_.counts.preempted_producers;
  Require(wanted_ > available_, "was preempted, though %d pages were wanted and %d to be had",
          client.id, wanted_, available_);
  const std::int32_t rank = ranks_.at(client.id);
  for (const Client& other : stage_.clients) {
    if (!other.running || &other == &client) continue;
    const std::int32_t others = ranks_.at(other.id);
    Require(others > rank || (others == rank && other.arrival < client.arrival),
            "of priority %d was preempted before request %d, of priority %d", client.id, rank,
            static_cast<std::int64_t>(other.id), others);
  }
}

void OrderCheck::FindResumed() {
  int found = 0;
  for (Client& client : stage_.clients) {
    if (!client.waits() || client.preemptions == 0) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    if (status->state == RequestState::kPrefill) ++found;
  }
  if (found > 0) ambiguous_ = true;
}

void OrderCheck::OnAdmitted(Client& client) {
  FindResumed();
  const std::vector<Client*> queue = Queue();
  for (const Client* other : queue) {
    Require(Aged(*other) <= Aged(client), "of priority %d was admitted before request %d, of %d",
            client.id, Aged(client), static_cast<std::int64_t>(other->id), Aged(*other));
  }
  if (Aged(client) > client.request.priority) ++stage_.counts.promoted;
  Pass(client, queue);
}

void OrderCheck::Pass(Client& admitted, const std::vector<Client*>& queue) {
  std::vector<Client*> others;  // of its class
  for (Client* other : queue) {
    if (Aged(*other) == Aged(admitted) && other->request.tenant == admitted.request.tenant) {
      others.push_back(other);
    }
  }
  const std::int32_t most = stage_.scenario.scheduler.max_passes;
  const auto oldest =
      std::min_element(others.begin(), others.end(),
                       [](const Client* a, const Client* b) { return a->arrival < b->arrival; });
  const bool is_oldest = oldest == others.end() || (*oldest)->arrival > admitted.arrival;
  if (!is_oldest) {
    ++passes_;
    ++(*oldest)->passes;
    if (!ambiguous_) {
      Require((*oldest)->passes <= most, "was passed over %d times", (*oldest)->id,
              (*oldest)->passes);
    }
  } else if (admitted.passes >= most || ambiguous_) {
    return;  // it is next, whatever is cached of it
  }
  const std::int64_t cached = Cached(admitted);
  for (const Client* other : others) {
    const std::int64_t more = Cached(*other);
    Require(more < cached || (more == cached && admitted.arrival < other->arrival),
            "with %d tokens cached was admitted before request %d with %d", admitted.id, cached,
            static_cast<std::int64_t>(other->id), more);
  }
}

void OrderCheck::AfterNext(const Batch& batch, const std::vector<Client*>& admitted) {
  Require(preempted_ == 0 || admitted.empty(), "%d were admitted, and %d preempted, in one step",
          kNobody, static_cast<std::int64_t>(admitted.size()), preempted_);
  for (Client* client : admitted) {
    if (!client->just_admitted) ambiguous_ = true;
  }
  if (ambiguous_) {  // the order of those that resume is not told: go on from its own count
    passes_ = stage_.scheduler->stats().passes;
    for (Client& client : stage_.clients) {
      if (!client.live()) continue;
      client.passes = stage_.scheduler->Inspect(client.id, stage_.now())->passes;
      Require(client.passes <= stage_.scenario.scheduler.max_passes, "was passed over %d times",
              client.id, client.passes);
    }
  }
  stage_.counts.passes = passes_;
  CheckNewcomers(admitted);
  CheckPrefills(batch);
  if (!admitted.empty()) CheckHeadroom();
  if (preempted_ == 0) CheckNotIdle(batch, admitted);
}

// Nobody is admitted sooner than there is something of a step for him: before that others publish
// what he needs. One newcomer may want more than is left, and another one, which is shorter than
// all, has its share of a step that is full.
void OrderCheck::CheckNewcomers(const std::vector<Client*>& admitted) {
  std::int64_t decodes = 0;
  std::int64_t wanted = 0;
  std::int64_t shortest = INT64_MAX;  // of those that ran before
  for (const Client& client : stage_.clients) {
    if (!client.running) continue;
    if (!client.prefill) ++decodes;
    if (client.prefill) wanted += stage_.Share(client);
    const bool is_new = client.admitted_step == stage_.step + 1;
    if (client.prefill && !is_new) shortest = std::min(shortest, client.remaining());
  }
  std::vector<std::int64_t> newcomers;
  for (const Client* client : admitted) {
    if (client->live()) newcomers.push_back(stage_.Share(*client));
  }
  if (newcomers.empty()) return;
  const std::int64_t left = stage_.PromptRoom(decodes);
  std::sort(newcomers.rbegin(), newcomers.rend());
  const std::int64_t others = wanted - newcomers[0] - (newcomers.size() > 1 ? newcomers[1] : 0);
  // Where a copy's source would be the page too many, it got less than it was admitted for.
  const std::int64_t lost = stage_.scenario.ample ? 0 : stage_.page_size() - 1;
  const bool has_share = newcomers.size() == 1 && left >= 4 && newcomers[0] - lost < shortest;
  Require(others < left || has_share, "%d were admitted, and others want %d tokens of %d", kNobody,
          static_cast<std::int64_t>(newcomers.size()), others, left);
}

// Better-ranked prefills first; the shortest has a quarter at most when others want more, and that
// quarter in any case.
void OrderCheck::CheckPrefills(const Batch& batch) {
  struct Prefill {
    const Client* client;
    std::int32_t rank;
    std::int64_t got;
    std::int64_t deficit;
  };
  std::vector<Prefill> prefills;
  std::int64_t decodes = 0;
  for (const Client& client : stage_.clients) {
    if (!client.running) continue;
    if (client.cuts_chunks()) return;  // what it leaves of a step goes to anybody
    if (client.prefill) {
      const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
      prefills.push_back({&client, Aged(client), 0, status->deficit});
    } else {
      ++decodes;
    }
  }
  for (const Client& client : stage_.clients) {
    if (!client.waits()) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    if (!status->producer) continue;
    for (Prefill& prefill : prefills) {
      if (prefill.client->id == *status->producer) {
        prefill.rank = std::max(prefill.rank, Aged(client));
      }
    }
  }
  const std::int64_t left = stage_.PromptRoom(decodes);
  std::int64_t shortest = INT64_MAX;
  int shortest_count = 0;
  for (Prefill& prefill : prefills) {
    for (const Sequence& sequence : batch.sequences) {
      if (sequence.request != prefill.client->id) continue;
      prefill.got = static_cast<std::int64_t>(sequence.tokens.size());
    }
    if (prefill.client->remaining() < shortest) shortest_count = 0;
    shortest = std::min(shortest, prefill.client->remaining());
    if (prefill.client->remaining() == shortest) ++shortest_count;
  }
  for (const Prefill& prefill : prefills) {
    const Client& client = *prefill.client;
    if (shortest_count == 1 && client.remaining() == shortest) {
      Require(prefill.got >= std::min(client.remaining(), left / 4),
              "is the shortest, and got %d tokens of %d", client.id, prefill.got, left);
    }
    if (prefill.got >= client.remaining()) continue;
    for (const Prefill& other : prefills) {
      const bool is_behind =
          other.rank < prefill.rank ||
          (other.rank == prefill.rank && other.deficit < prefill.deficit) ||
          (other.rank == prefill.rank && other.client->request.tenant == client.request.tenant &&
           other.client->arrival > client.arrival);
      if (!is_behind) continue;
      const std::int64_t most = other.client->remaining() == shortest ? left / 4 : 0;
      Require(other.got <= most, "got %d tokens less than it wants, and request %d behind it %d",
              client.id, client.remaining() - prefill.got,
              static_cast<std::int64_t>(other.client->id), other.got);
    }
  }
}

std::int64_t OrderCheck::Pages(std::int64_t slots) const {
  return (slots + stage_.page_size() - 1) / stage_.page_size();
}

// Pages that its next tokens may need, beyond those that it knows.
std::int64_t OrderCheck::Headroom(const Client& client) const {
  const std::int64_t last =
      client.prompt_tokens() + std::max<std::int64_t>(client.max_output - 1, 0);
  const std::int64_t next =
      std::min(client.known() + stage_.scenario.scheduler.headroom_tokens, last);
  return std::max<std::int64_t>(Pages(next) - Pages(client.known()), 0);
}

void OrderCheck::CheckHeadroom() {
  std::int64_t headroom = 0;
  std::int64_t running = 0;
  for (const Client& client : stage_.clients) {
    if (!client.running) continue;
    ++running;
    headroom += Headroom(client);
  }
  if (running < 2) return;
  const std::int64_t spare =
      stage_.cache.available_pages() - stage_.scheduler->stats().reserved_pages;
  Require(spare >= headroom, "somebody was admitted with %d pages to spare, where %d are wanted",
          kNobody, spare, headroom);
}

// A step that is not full leaves nobody waiting for whom there is room; nor does one that is full
// where only one waits, whose prompt is shorter than those that run and has a share of its own.
void OrderCheck::CheckNotIdle(const Batch& batch, const std::vector<Client*>& admitted) {
  std::int64_t sum = 0;
  for (const Sequence& sequence : batch.sequences) {
    sum += static_cast<std::int64_t>(sequence.tokens.size());
  }
  std::int64_t running = 0;
  std::int64_t headroom = 0;
  std::int64_t decodes = 0;
  std::int64_t shortest = INT64_MAX;
  for (const Client& client : stage_.clients) {
    if (!client.running) continue;
    ++running;
    headroom += Headroom(client);
    if (client.cuts_chunks()) return;  // what it leaves of a step is nobody's
    if (client.prefill) {
      shortest = std::min(shortest, client.remaining());
    } else {
      ++decodes;
    }
  }
  if (running >= stage_.scenario.scheduler.max_running) return;
  const std::int64_t spare =
      stage_.cache.available_pages() - stage_.scheduler->stats().reserved_pages;
  const std::vector<Client*> queue = Queue();
  if (queue.empty()) return;
  const bool all_fit = std::all_of(queue.begin(), queue.end(), [&](const Client* client) {
    return stage_.MostWanted(*client) + headroom + Headroom(*client) <= spare;
  });
  const std::int64_t left = stage_.PromptRoom(decodes);
  bool has_share = sum - decodes < left;
  if (queue.size() == 1 && admitted.empty() && left >= 4) {
    has_share = has_share || queue[0]->known() < shortest;
  }
  Require(!all_fit || !has_share, "waits, though %d pages are to spare, %d for those that run",
          queue.front()->id, spare, headroom);
}

void OrderCheck::CheckPriorities() {
  Require(stage_.scheduler->stats().passes == passes_, "it says %d passes, and there were %d",
          kNobody, stage_.scheduler->stats().passes, passes_);
  std::map<RequestId, std::int32_t> wanted;  // of those that run: with their followers'
  for (const Client& client : stage_.clients) {
    if (client.running) wanted[client.id] = std::max(wanted[client.id], Aged(client));
    if (!client.waits()) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    if (status->producer) {
      std::int32_t& priority = wanted[*status->producer];
      priority = std::max(priority, Aged(client));
    }
    Require(status->aged_priority == Aged(client), "has priority %d, not %d", client.id,
            status->aged_priority, Aged(client));
    Require(status->passes == client.passes, "was passed over %d times, not %d", client.id,
            status->passes, client.passes);
  }
  for (const auto& [id, priority] : wanted) {
    const std::int32_t told = stage_.scheduler->Inspect(id, stage_.now())->aged_priority;
    Require(told == priority, "runs with priority %d, not %d", id, told, priority);
  }
}

}  // namespace banyan::sim
