// What goes wrong in a simulation, and how it must end.
#include <algorithm>
#include <utility>

#include "tests/sim/world.h"

namespace banyan::sim {

using radix::PageState;
using scheduler::CancelReason;
using scheduler::RequestState;

void World::Disturb() {
  const Faults& faults = stage_.scenario.faults;
  if (faults.cancel_one_in > 0 && random_.OneIn(faults.cancel_one_in)) Cancel(Ask::kCancel);
  if (faults.stop_one_in > 0 && random_.OneIn(faults.stop_one_in)) Cancel(Ask::kStopString);
  if (faults.flush_one_in > 0 && random_.OneIn(faults.flush_one_in)) Flush();
}

// Of somebody in a state that is drawn, so that the rare ones are not forgotten; sometimes of one
// that has ended.
void World::Cancel(Ask ask) {
  if (stage_.clients.empty()) return;
  const auto wanted = static_cast<RequestState>(random_.Below(6));
  const bool preempted = random_.OneIn(3);
  std::vector<const Client*> candidates;
  std::vector<const Client*> live;
  for (const Client& client : stage_.clients) {
    if (!client.submitted) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    const RequestState state = status ? status->state : RequestState::kFinished;
    if (status) live.push_back(&client);
    if (preempted ? client.waits() && client.preemptions > 0 : state == wanted) {
      candidates.push_back(&client);
    }
  }
  if (candidates.empty()) candidates = live;
  if (candidates.empty()) return;
  const Client& client = *random_.Pick(candidates);
  scheduler::Cancellation cancellation{.request = client.id};
  if (ask == Ask::kStopString) {
    // A stop string is seen by who reads; sometimes by who cannot count.
    cancellation.reason = CancelReason::kStopString;
    cancellation.output_tokens =
        random_.OneIn(8) ? random_.Between(-1, 30) : static_cast<std::int64_t>(client.read_tokens);
  }
  if (random_.OneIn(2)) {
    CancelNow(cancellation);
  } else {
    stage_.inbox.Cancel(cancellation);
  }
}

void World::CancelNow(const scheduler::Cancellation& cancellation) {
  Client& client = stage_[cancellation.request];
  const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
  const RequestState state = status ? status->state : RequestState::kFinished;
  stage_.trace.Add("is cancelled in state %d, %d tokens of output", client.id,
                   static_cast<std::int64_t>(state), cancellation.output_tokens);
  Counts& counts = stage_.counts;
  ++counts.cancels[static_cast<std::size_t>(state)];
  if (in_flight_) ++counts.cancels_in_flight;
  if (client.waits() && client.preemptions > 0) ++counts.cancels_preempted;
  const bool was_live = client.live();
  if (was_live && client.ask == Ask::kNothing) {
    const bool stops = cancellation.reason == CancelReason::kStopString;
    client.ask = stops ? Ask::kStopString : Ask::kCancel;
    client.stop_tokens = cancellation.output_tokens;
    if (stops) ++counts.stop_strings;
  }
  stage_.scheduler->Cancel(cancellation, stage_.now());
  Require(client.finished || (was_live && client.in_flight),
          "was cancelled, and lives though no step names its pages", client.id);
  Settle();
}

void World::Flush() {
  const Realm realm = random_.Below(stage_.scenario.tenants) * stage_.scenario.salts +
                      random_.Below(stage_.scenario.salts);
  stage_.trace.Add("realm %d is flushed", kNobody, realm);
  ++stage_.counts.flushes;
  const std::int64_t cached = stage_.cache.stats().cached_tokens;
  std::int64_t of_others = 0;  // of some path in each other realm
  const auto count = [&] {
    std::int64_t sum = 0;
    for (const Client& client : stage_.clients) {
      if (!client.submitted || client.realm == realm) continue;
      sum += stage_.cache.MatchLength(stage_.NamespaceOf(client.realm), client.oracle.tokens);
    }
    return sum;
  };
  of_others = count();
  stage_.cache.Flush(stage_.NamespaceOf(realm));
  Require(count() == of_others, "a flush of realm %d took tokens of others: %d are left of %d",
          kNobody, realm, count(), of_others);
  for (const Client& client : stage_.clients) {
    if (!client.submitted || client.realm != realm) continue;
    Require(stage_.cache.MatchLength(stage_.NamespaceOf(realm), client.request.prompt) == 0,
            "is still cached after its realm was flushed", client.id);
  }
  Require(stage_.cache.stats().cached_tokens <= cached, "a flush left more than there was");
  share_check_.OnFlush(realm);
  eviction_check_.OnFlush(realm);
  if (stage_.cache.stats().pages[static_cast<std::size_t>(PageState::kDetached)] > 0) {
    ++stage_.counts.detached_pages;
  }
  Settle();
}

// Between two steps, or with one in flight.
void World::ShutDown() {
  ++stage_.counts.shutdowns;
  stage_.trace.Add("the scheduler is destroyed");
  if (random_.OneIn(2)) {
    order_check_.BeforeNext();
    turn_check_.BeforeNext();
    in_next_ = true;
    const Batch& batch = stage_.scheduler->Next(stage_.now());
    in_next_ = false;
    turn_check_.AfterNext(order_check_.preempted());
    if (!batch.empty()) {
      batch_check_.Check(batch);
      for (Client* client : batch_check_.admitted()) client->just_admitted = false;
      for (const Sequence& sequence : batch.sequences) stage_[sequence.request].in_flight = true;
      in_flight_ = true;
      Settle();
      Disturb();
      Drain();
    }
  }
  stage_.inbox.Close();
  Require(stage_.inbox.Submit(scheduler::Request()) == scheduler::Inbox::Submitted::kClosed,
          "an inbox that was closed takes requests");
  stage_.scheduler.reset();
  in_flight_ = false;
  Settle();
}

// No more faults, no more work: whoever lives comes to his end within CalmBound() ticks.
void World::Calm() {
  calm_ = true;
  Drain();
  const std::int64_t bound = CalmBound();
  const auto idle = [&] {
    return std::none_of(stage_.clients.begin(), stage_.clients.end(),
                        [](const Client& client) { return client.live(); });
  };
  std::int64_t ticks = 0;
  while (!idle()) {
    Require(ticks < bound, "after %d ticks without faults some still live", kNobody, bound);
    RunTick();
    ++ticks;
  }
  // One step may be left: it forgets what was put aside by who is gone.
  if (stage_.scheduler != nullptr) Require(!Step() || !Step(), "there are steps, and nobody lives");
  stage_.counts.calm_percent = ticks * 100 / bound;
}

// In every step somebody advances by a token, and whoever is first in rank is never preempted. So
// even if only he advanced, and everybody else had to begin again behind him:
std::int64_t World::CalmBound() const {
  std::int64_t tokens = 0;
  std::int64_t requests = 0;
  for (const Client& client : stage_.clients) {
    if (!client.live()) continue;
    ++requests;
    tokens += client.prompt_tokens() + client.max_output;
  }
  return 2 * tokens + requests + 1;
}

void World::CheckEnd() {
  Counts& counts = stage_.counts;
  counts.seeds = 1;
  counts.computed_tokens = stage_.model.computed();
  const radix::Stats stats = stage_.cache.stats();
  counts.evicted_pages = stats.evicted_pages;
  counts.deduplicated_pages = stats.deduplicated_pages;
  for (const Client& client : stage_.clients) {
    Require(!client.submitted || (client.finished && client.read_end),
            "was never told that it ended", client.id);
  }
  if (stage_.scheduler != nullptr) {
    const scheduler::Stats left = stage_.scheduler->stats();
    Require(stage_.scheduler->idle() &&
                left.waiting + left.running + left.following + left.reserved_pages == 0,
            "the scheduler is not idle at the end");
    Require(stage_.model.pages_aside() == 0, "%d pages are aside, and nobody comes back for them",
            kNobody, stage_.model.pages_aside());
    Require(stage_.inbox.waiting() == 0, "the inbox counts %d that wait, at the end", kNobody,
            static_cast<std::int64_t>(stage_.inbox.waiting()));
  }
  pulse_check_.CheckEnd();
  CheckCached();
  for (Realm realm = 0; realm < stage_.scenario.tenants * stage_.scenario.salts; ++realm) {
    stage_.cache.Flush(stage_.NamespaceOf(realm));
  }
  const radix::Stats empty = stage_.cache.stats();
  Require(empty.pages[0] == stage_.scenario.cache.pages && empty.cached_tokens == 0 &&
              empty.nodes == 0 && empty.evictable == 0,
          "when all is flushed %d pages are free", kNobody, empty.pages[0]);
  stage_.cache.OpenNamespace("whoever comes next");  // then those that are too many go
  const std::int64_t namespaces = stage_.cache.stats().namespaces;
  Require(namespaces <= stage_.scenario.cache.max_empty_namespaces,
          "%d namespaces are kept, and all of them are empty", kNobody, namespaces);
  const absl::Status status = stage_.cache.CheckInvariants();
  if (!status.ok()) throw Failure("tree: " + std::string(status.message()));
}

// Whatever the tree still gives for what was said is what was computed for it.
void World::CheckCached() {
  for (const Client& client : stage_.clients) {
    if (!client.submitted || !client.fits) continue;
    const std::int64_t exact = std::min(client.known(), client.exact());
    const auto known = std::span(client.oracle.tokens).first(static_cast<std::size_t>(exact));
    radix::View view = stage_.cache.Open(stage_.NamespaceOf(client.realm), known, exact);
    const std::int64_t whole = std::int64_t{view.leased_pages()} * stage_.page_size();
    const std::int64_t wrong = stage_.model.FirstWrong(
        view.page_table(), std::span(client.oracle.path).first(static_cast<std::size_t>(whole)));
    Require(wrong < 0, "the tree has something else than its token %d", client.id, wrong);
  }
}

}  // namespace banyan::sim
