#include "tests/sim/turn_check.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "scheduler/request_state.h"

namespace banyan::sim {

using scheduler::RequestState;

std::int32_t TurnCheck::Aged(const Client& client) const {
  return stage_.scheduler->Inspect(client.id, stage_.now())->aged_priority;
}

bool TurnCheck::Queues(const Client& client) const {
  if (!client.waits()) return false;
  const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
  return status && status->state == RequestState::kWaiting;
}

void TurnCheck::OnSubmit(const Client& client) {
  const std::string& tenant = client.request.tenant;
  if (live_[tenant]++ == 0) deficits_[tenant] = stage_.scenario.scheduler.quantum;
}

void TurnCheck::PassRound() {
  const std::int64_t quantum = stage_.scenario.scheduler.quantum;
  for (auto& [tenant, deficit] : deficits_) deficit = std::min(deficit + quantum, quantum);
}

void TurnCheck::PassWhileAllOwe() {
  while (!deficits_.empty() && std::all_of(deficits_.begin(), deficits_.end(),
                                           [](const auto& d) { return d.second <= 0; })) {
    PassRound();
  }
}

void TurnCheck::Charge(const std::string& tenant, std::int64_t tokens) {
  deficits_.at(tenant) -= tokens;
  PassWhileAllOwe();
}

void TurnCheck::OnSampled(const Client& client) {
  // The token that ends a prefill was paid for with it.
  if (!client.prefill) Charge(client.request.tenant, 1);
}

void TurnCheck::OnFinished(const Client& client) {
  const auto live = live_.find(client.request.tenant);
  if (--live->second > 0) return;
  deficits_.erase(live->first);
  live_.erase(live);
  PassWhileAllOwe();
}

void TurnCheck::SitDown(const Client& client, std::int32_t priority) {
  places_[client.id] = priority;
  Seat& seat = seats_[{priority, client.request.tenant}];
  if (seat.requests++ == 0) seat.since = calls_;
}

void TurnCheck::StandUp(const Client& client) {
  const auto place = places_.find(client.id);
  const auto seat = seats_.find({place->second, client.request.tenant});
  if (--seat->second.requests == 0) seats_.erase(seat);
  places_.erase(place);
}

void TurnCheck::Promote() {
  if (promoted_) return;
  promoted_ = true;
  const Tick ageing = stage_.scenario.scheduler.ageing;
  std::vector<std::tuple<Tick, std::uint64_t, const Client*>> promoted;
  for (const auto& [id, priority] : places_) {
    const Client& client = stage_[id];
    if (Aged(client) == priority) continue;
    const Tick when = client.since + (priority + 1 - client.request.priority) * ageing;
    promoted.emplace_back(when, client.arrival, &client);
  }
  std::sort(promoted.begin(), promoted.end());
  for (const auto& [when, arrival, client] : promoted) {
    StandUp(*client);
    ++calls_;
    SitDown(*client, Aged(*client));
  }
}

std::int32_t TurnCheck::Turn() {
  const std::int32_t highest = seats_.rbegin()->first.first;
  const auto first = seats_.lower_bound({highest, std::string()});
  while (std::all_of(first, seats_.end(),
                     [this](const auto& seat) { return deficits_.at(seat.first.second) <= 0; })) {
    PassRound();
  }
  return highest;
}

void TurnCheck::BeforeNext() {
  promoted_ = ambiguous_ = false;
  was_full_ = stage_.scheduler->stats().running >= stage_.scenario.scheduler.max_running;
}

// Who resumed or follows now, before or after the others of this Next.
void TurnCheck::FindUntold(const Client* admitted) {
  for (const auto& [id, priority] : places_) {
    const Client& client = stage_[id];
    if (&client != admitted && !Queues(client)) ambiguous_ = true;
  }
}

void TurnCheck::OnAdmitted(const Client& client) {
  const std::string& tenant = client.request.tenant;
  const std::int64_t cost = client.prompt_tokens() - client.cached;
  FindUntold(&client);
  Promote();
  if (!ambiguous_) {
    const std::int32_t priority = Turn();
    const auto seat = seats_.find({priority, tenant});
    Require(seat != seats_.end(), "was admitted, and its tenant has no seat at priority %d",
            client.id, priority);
    Require(deficits_.at(tenant) > 0, "was admitted, and its tenant's deficit was %d", client.id,
            deficits_.at(tenant));
    for (const auto& [place, other] : seats_) {
      if (place.first != priority || deficits_.at(place.second) <= 0) continue;
      Require(seat->second.since <= other.since,
              "was admitted before a tenant whose turn came earlier, which has %d tokens left",
              client.id, deficits_.at(place.second));
    }
  }
  StandUp(client);
  Charge(tenant, cost);
}

void TurnCheck::AfterNext(int preempted) {
  FindUntold(nullptr);
  if (preempted > 0 || was_full_) return;  // nobody was looked at
  Promote();
  const bool is_full = stage_.scheduler->stats().running >= stage_.scenario.scheduler.max_running;
  if (!ambiguous_ && !is_full && !seats_.empty()) Turn();  // that of who does not fit yet
}

void TurnCheck::Check() {
  ++calls_;
  for (const Client& client : stage_.clients) {
    const bool queues = Queues(client);
    const bool sits = places_.contains(client.id);
    if (sits && !queues) StandUp(client);
    if (queues && !sits) SitDown(client, Aged(client));
    if (!client.live()) continue;
    const std::int64_t told = stage_.scheduler->Inspect(client.id, stage_.now())->deficit;
    std::int64_t& deficit = deficits_.at(client.request.tenant);
    if (ambiguous_) deficit = told;
    Require(told == deficit, "has a tenant with a deficit of %d, not %d", client.id, told, deficit);
  }
  ambiguous_ = false;
}

}  // namespace banyan::sim
