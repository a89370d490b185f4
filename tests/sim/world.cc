#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "tests/sim/oracle.h"

namespace banyan::sim {

using radix::PageState;
using scheduler::FinishReason;
using scheduler::RequestState;

World::World(std::uint64_t seed, const Scenario& scenario)
    : random_(seed),
      stage_(scenario, this),
      workload_(stage_.scenario, random_),
      batch_check_(stage_),
      share_check_(stage_),
      order_check_(stage_),
      turn_check_(stage_),
      keep_check_(stage_),
      account_check_(stage_),
      eviction_check_(stage_),
      shares_check_(stage_),
      pulse_check_(stage_),
      reader_(stage_),
      poisoned_(static_cast<std::size_t>(scenario.cache.pages), true) {
  stage_.scheduler =
      std::make_unique<scheduler::Scheduler>(stage_.scenario.scheduler, stage_.cache, this);
}

World::~World() { stage_.scheduler.reset(); }

void World::Run() {
  while (!workload_.done()) {
    if (stage_.trace.tick() == stage_.scenario.shutdown_tick) {
      ShutDown();
      break;
    }
    RunTick();
  }
  if (stage_.scheduler != nullptr) Calm();
  CheckEnd();
}

void World::RunTick() {
  stage_.trace.SetTick(stage_.trace.tick() + 1);
  ++stage_.counts.ticks;
  stage_.clock.Advance(stage_.scenario.tick);
  if (!calm_) {
    Arrive();
    Disturb();
  }
  Drain();
  Step();
  pulse_check_.AfterStep();
}

// ---- what arrives

void World::Arrive() {
  const auto live = std::count_if(stage_.clients.begin(), stage_.clients.end(),
                                  [](const Client& client) { return client.live(); });
  for (std::vector<Wish>& together :
       workload_.Arrivals(stage_.trace.tick(), static_cast<int>(live))) {
    Post(std::move(together));
  }
}

void World::Post(std::vector<Wish> wishes) {
  std::vector<scheduler::Request> requests;
  const std::size_t first = stage_.clients.size();
  for (Wish& wish : wishes) {
    Client& client = stage_.clients.emplace_back();
    client.id = RequestId{stage_.clients.size()};
    client.realm = wish.realm;
    client.request = std::move(wish.request);
    client.request.id = client.id;
    client.request.submitted = stage_.now();
    client.since = stage_.now();
    client.capacity = wish.capacity;
    client.reads_one_in = wish.reads_one_in;
    client.stream =
        std::make_shared<scheduler::TokenStream>(wish.capacity, [&client] { client.woken = true; });
    client.request.stream = client.stream;
    client.keeping = KeepingOf(client.request, stage_.page_size());
    requests.push_back(client.request);
    workload_.SetConversation(client.id, wish.conversation);
  }
  const std::size_t waiting = stage_.inbox.waiting();
  const bool fits = waiting + requests.size() <= stage_.scenario.max_queue;
  const auto posted = stage_.inbox.Submit(std::move(requests));
  Require(
      posted == (fits ? scheduler::Inbox::Submitted::kTaken : scheduler::Inbox::Submitted::kFull),
      "the inbox, with %d waiting, took %d more wrongly or did not", kNobody,
      static_cast<std::int64_t>(waiting), static_cast<std::int64_t>(wishes.size()));
  for (std::size_t i = first; i < stage_.clients.size(); ++i) {
    Client& client = stage_.clients[i];
    if (fits) continue;
    client.finished = true;  // 429: it never was there
    client.submitted = false;
    client.read_end = true;
    ++stage_.counts.turned_away;
    workload_.OnEnd(client, client.request.prompt);
  }
}

void World::Drain() {
  scheduler::Inbox::Mail mail = stage_.inbox.Drain(Tick(0));
  for (scheduler::Request& request : mail.requests) Submit(std::move(request));
  for (const scheduler::Cancellation& cancellation : mail.cancellations) CancelNow(cancellation);
}

void World::Submit(scheduler::Request request) {
  Client& client = stage_[request.id];
  const scheduler::Options& bounds = stage_.scenario.scheduler;
  const std::int64_t prompt = client.prompt_tokens();
  const std::int64_t pool = std::int64_t{stage_.page_size()} * stage_.scenario.cache.pages;
  const auto& policy = client.request.kv_policy;
  const std::int64_t most = client.request.max_tokens;
  client.fits = prompt + 1 <= std::min(bounds.context_length, pool);
  bool all_fits = client.fits && prompt + most <= bounds.context_length;
  if (client.keeping) {
    client.fits = client.fits && IsSound(*policy, stage_.page_size()) &&
                  policy->budget <= bounds.context_length && PeakPagesFit(client);
    all_fits = client.fits && all_fits;
  } else if (policy) {
    client.fits = all_fits = policy->window >= std::max(policy->sinks, 1) &&
                             client.exact() <= bounds.context_length &&
                             stage_.MostPages(client) <= stage_.scenario.cache.pages;
  }
  Require(
      client.fits == scheduler::CheckFits(bounds, stage_.scenario.cache, prompt, -1, policy).ok(),
      "of %d tokens fits wrongly, or does not", client.id, prompt);
  Require(
      all_fits == scheduler::CheckFits(bounds, stage_.scenario.cache, prompt, most, policy).ok(),
      "of %d tokens and %d more fits wrongly, or does not", client.id, prompt, most);
  if (client.fits) {
    Bound(client);
    stage_.counts.policies += policy ? 1 : 0;
    client.oracle = Expect(client.request, client.realm, client.max_output, client.keeping);
  }
  client.submitted = true;
  client.since = stage_.now();
  client.arrival = static_cast<std::uint64_t>(client.id);
  ++stage_.counts.requests;
  stage_.trace.Add("arrives: %d tokens, realm %d, priority %d, at most %d more", client.id, prompt,
                   client.realm, client.request.priority, client.max_output);
  turn_check_.OnSubmit(client);
  stage_.scheduler->Submit(std::move(request), stage_.now());
  Require(client.finished == !client.fits, "was refused wrongly, or was not", client.id);
  Settle();
}

// While its prompt is compacted, and while that of the shortest would be.
bool World::PeakPagesFit(const Client& client) const {
  Keeping shortest = *client.keeping;
  shortest.prompt = 1;
  return stage_.PeakPages(*client.keeping) <= stage_.scenario.cache.pages &&
         stage_.PeakPages(shortest) <= stage_.scenario.cache.pages;
}

// The most that it may answer, and why that is the most.
void World::Bound(Client& client) {
  using scheduler::LengthLimit;
  client.max_output = client.request.max_tokens;
  client.limit = LengthLimit::kMaxTokens;
  const auto bound = [&](std::int64_t most, LengthLimit limit) {
    if (most >= client.max_output) return;
    client.max_output = most;
    client.limit = limit;
  };
  if (client.request.kv_policy && !client.keeping) return;
  const std::int64_t prompt = client.prompt_tokens();
  bound(stage_.scenario.scheduler.context_length - prompt, LengthLimit::kContext);
  const std::int64_t pages = stage_.scenario.cache.pages;
  if (client.keeping && !client.keeping->once) return;
  // Computed again, a prompt is there beside what survives of it and all of the answer.
  std::int64_t slots = pages * stage_.page_size() - prompt;
  if (client.keeping && client.keeping->is_ever_due())
    slots = (pages - stage_.Pages(prompt)) * stage_.page_size() - client.keeping->rule.budget;
  bound(slots + 1, LengthLimit::kPool);
}

// ---- a step

bool World::Step() {
  order_check_.BeforeNext();
  turn_check_.BeforeNext();
  in_next_ = true;
  const Batch& batch = stage_.scheduler->Next(stage_.now());
  in_next_ = false;
  turn_check_.AfterNext(order_check_.preempted());
  if (batch.sequences.empty()) {
    for (const Client& client : stage_.clients) {
      Require(!client.live(), "waits, and nothing runs", client.id);
    }
  }
  if (batch.empty()) return false;
  for (const Sequence& sequence : batch.sequences) {
    const Client& client = stage_[sequence.request];
    if (client.running && !client.prefill && client.computed % 16 > 0) continue;  // goes on
    stage_.trace.Add("computes %d tokens from %d on, in %d pages, in step %d", sequence.request,
                     static_cast<std::int64_t>(sequence.tokens.size()), sequence.first_position,
                     static_cast<std::int64_t>(sequence.pages.size()), stage_.step + 1);
  }
  for (const PageCopy& copy : batch.copies) {
    stage_.trace.Add("%d slots of page %d go to page %d", kNobody, copy.slots, copy.from, copy.to);
  }
  batch_check_.Check(batch);
  stage_.model.Save(batch);
  order_check_.AfterNext(batch, batch_check_.admitted());
  share_check_.CheckRendezvous(batch_check_.admitted());
  keep_check_.AfterNext(batch_check_.admitted());
  shares_check_.AfterNext();
  for (Client* client : batch_check_.admitted()) {
    client->just_admitted = false;
    eviction_check_.OnMatch(*client, client->computed);
  }
  if (random_.OneIn(4)) eviction_check_.Check();
  ++stage_.step;
  in_flight_ = true;
  for (const Sequence& sequence : batch.sequences) stage_[sequence.request].in_flight = true;
  Settle();
  if (!calm_) {
    if (random_.OneIn(4)) {
      Arrive();
      Drain();
    }
    Disturb();
    Drain();
  }
  Finish(batch);
  return true;
}

void World::Finish(const Batch& batch) {
  const int fail_one_in = calm_ ? 0 : stage_.scenario.faults.fail_one_in;
  const bool fails = fail_one_in > 0 && random_.OneIn(fail_one_in);
  stage_.clock.Advance(stage_.scenario.tick / 4);  // a step takes time
  stage_.model.Prepare(batch);
  batch_check_.CheckContents(batch);
  const StepResult result =
      fails ? stage_.model.Fail(batch)
            : stage_.model.Forward(batch, [this](RequestId id) { return stage_[id].realm; });
  account_check_.OnStep(fails);
  ++stage_.counts.steps;
  if (fails) {
    ++stage_.counts.failed_steps;
    for (Client& client : stage_.clients) {
      if (client.preempted_step == stage_.step) client.lost = true;
    }
    stage_.trace.Add("step %d fails", kNobody, stage_.step);
  }
  std::vector<RequestId> in_step;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const Sequence& sequence = batch.sequences[i];
    const auto tokens = static_cast<std::int64_t>(sequence.tokens.size());
    Client& client = stage_[sequence.request];
    in_step.push_back(client.id);
    client.in_flight = false;
    for (const PageId page : sequence.pages) poisoned_[static_cast<std::size_t>(page)] = false;
    if (fails) {
      client.in_failed_step = true;
      account_check_.OnFailed(tokens);
      share_check_.OnFailedStep(client.realm);
      continue;
    }
    if (client.computed >= client.exact()) client.publishes = false;
    client.computed += tokens;
    account_check_.OnComputed(client, client.computed - tokens, client.computed);
    share_check_.OnComputed(client, tokens);
    eviction_check_.OnUse(client, client.computed);
    if (sequence.logits == Logits::kNone) continue;
    const SequenceResult& got = result.sequences[i];
    const ScoredToken& want = client.oracle.sampled[static_cast<std::size_t>(client.sampled)];
    Require(Same({got.token, got.log_probability, got.top}, want),
            "got token %d as its token %d, and the oracle says %d", client.id, got.token,
            client.sampled, want.token);
    client.arriving = client.ask == Ask::kNothing;
  }
  in_flight_ = false;
  stage_.scheduler->Complete(result, stage_.now());
  for (const RequestId id : in_step) {
    const Client& client = stage_[id];
    Require(!fails || client.finished, "lived through a step that failed", id);
    Require(!client.arriving || client.reason == FinishReason::kSlowReader,
            "was not given the token that was sampled for it", id);
  }
  Settle();
}

// After every call: free pages lose what they hold, readers read, everything is checked.
void World::Settle() {
  for (PageId page = 0; page < stage_.scenario.cache.pages; ++page) {
    const PageState state = stage_.cache.page_state(page);
    if (state != PageState::kFree) continue;
    if (poisoned_[static_cast<std::size_t>(page)]) continue;
    stage_.model.Poison(page);
    poisoned_[static_cast<std::size_t>(page)] = true;
  }
  account_check_.Check(in_flight_);
  if (stage_.scheduler != nullptr) {
    order_check_.CheckPriorities();
    turn_check_.Check();
    share_check_.CheckFollowers();
  }
  for (Client& client : stage_.clients) {
    if (client.read_end || !client.submitted || !client.woken) continue;
    if (client.finished || calm_ || random_.OneIn(client.reads_one_in)) reader_.Read(client);
  }
  for (const RequestId id : std::exchange(ended_, {})) {
    Client& client = stage_[id];
    Require(stage_.scheduler == nullptr || !stage_.scheduler->Inspect(id, stage_.now()),
            "ended, and is still known", id);
    Require(client.read_end, "ended, and its stream did not", id);
    std::vector<TokenId> said = client.request.prompt;
    for (std::size_t i = 0; i < client.read_tokens; ++i) {
      said.push_back(client.oracle.sampled[i].token);
    }
    workload_.OnEnd(client, std::move(said));
  }
}

// ---- what the scheduler says

void World::OnAdmitted(const scheduler::Request& request, const scheduler::Admission& admission) {
  Client& client = stage_[request.id];
  Require(in_next_, "was admitted between steps", client.id);
  Require(client.live() && client.cached < 0, "was admitted twice", client.id);
  Require(admission.prompt_tokens == client.prompt_tokens(), "was admitted with %d tokens",
          client.id, admission.prompt_tokens);
  Require(admission.queued == stage_.now() - client.since, "is said to have waited %d ns",
          client.id, admission.queued.count());
  stage_.trace.Add("is admitted with %d tokens cached", client.id, admission.cached_tokens);
  client.cached = admission.cached_tokens;
  client.admitted_at = stage_.now();
  client.just_admitted = true;
  client.left_queue = true;
  account_check_.OnLeftQueue();
  stage_.counts.cached_tokens += client.cached;
  shares_check_.OnCharge(client, client.prompt_tokens() - client.cached);
  order_check_.OnAdmitted(client);
  turn_check_.OnAdmitted(client);
  share_check_.OnAdmitted(client);
}

void World::OnPreempted(const scheduler::Request& request, std::int64_t output_tokens) {
  Client& client = stage_[request.id];
  Require(in_next_ && client.running && !stage_.scenario.ample, "was preempted for no reason",
          client.id);
  Require(output_tokens == client.sampled, "was preempted with %d tokens of output, not %d",
          client.id, output_tokens, client.sampled);
  stage_.trace.Add("is preempted with %d tokens computed", client.id, client.computed);
  order_check_.OnPreempted(client);
  keep_check_.OnGivenUp(client);
  account_check_.OnPreempted();
  ++client.preemptions;
  ++stage_.counts.preemptions;
  client.had = client.computed;
  client.preempted_step = stage_.step + 1;
  StopRunning(client);
}

void World::StopRunning(Client& client) {
  if (client.running) eviction_check_.OnUse(client, client.computed);
  client.running = client.prefill = false;
  client.computed = 0;
  client.node = Knowledge::kNone;
}

void World::OnFirstToken(const scheduler::Request& request, Tick since_submit) {
  Client& client = stage_[request.id];
  Require(client.first_token_at < Tick(0), "has its first token twice", client.id);
  Require(since_submit == stage_.now() - client.since, "had its first token after %d ns", client.id,
          since_submit.count());
  client.first_token_at = stage_.now();
  OnSampled(client);
}

void World::OnToken(const scheduler::Request& request, Tick since_last) {
  Client& client = stage_[request.id];
  Require(client.first_token_at >= Tick(0), "has a second token and no first", client.id);
  Require(since_last == stage_.now() - client.latest_token_at, "had its next token after %d ns",
          client.id, since_last.count());
  OnSampled(client);
}

void World::OnSampled(Client& client) {
  Require(client.arriving, "has a token that nothing sampled", client.id);
  turn_check_.OnSampled(client);
  client.arriving = false;
  if (!std::exchange(client.prefill, false)) shares_check_.OnCharge(client, 1);
  client.latest_token_at = stage_.now();
  ++client.sampled;
}

void World::OnFinished(const scheduler::Request& request, FinishReason reason,
                       const scheduler::Usage& usage, Tick since_submit) {
  Client& client = stage_[request.id];
  stage_.trace.Add("ends by %d with %d tokens of output", client.id,
                   static_cast<std::int64_t>(reason), usage.output_tokens);
  Require(client.live(), "ends twice", client.id);
  Require(since_submit == stage_.now() - client.since, "is said to have lived %d ns", client.id,
          since_submit.count());
  Require(reason != FinishReason::kLength || !client.prompt_only() ||
              client.computed == client.prompt_tokens(),
          "ends with %d tokens of its prompt computed", client.id, client.computed);
  if (!client.left_queue) account_check_.OnLeftQueue();
  client.left_queue = true;
  client.finished = true;
  client.reason = reason;
  turn_check_.OnFinished(client);
  client.usage = usage;
  client.in_flight = false;
  account_check_.CheckUsage(client);
  keep_check_.OnGivenUp(client);
  StopRunning(client);
  ended_.push_back(client.id);
  Counts& counts = stage_.counts;
  counts.refused += reason == FinishReason::kRefused ? 1 : 0;
  counts.slow_readers += reason == FinishReason::kSlowReader ? 1 : 0;
  counts.pool_filled += usage.limit == scheduler::LengthLimit::kPool ? 1 : 0;
  counts.whole_answers += reason == FinishReason::kLength ? 1 : 0;
}

void World::OnEvicted(Tick lifetime, Tick idle) {
  account_check_.OnEvicted();
  eviction_check_.OnEvicted();
  // It entered the tree after the start, and in an earlier call, unless its owner was just
  // preempted.
  Require(lifetime >= idle && idle >= Tick(0) && lifetime < stage_.now() &&
              (lifetime > Tick(0) || order_check_.preempted() > 0),
          "a page was evicted after %d ns, unused for %d", kNobody, lifetime.count(), idle.count());
  Require(!stage_.scenario.ample, "a page was evicted from a pool that holds everything");
}

void World::OnReused(std::int32_t pages, Tick gap) {
  Require(pages > 0 && gap >= Tick(0) && gap <= stage_.now(),
          "%d pages were used again after %d ns", kNobody, pages, gap.count());
}

}  // namespace banyan::sim
