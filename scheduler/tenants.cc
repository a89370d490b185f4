#include "scheduler/tenants.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"

namespace banyan::scheduler {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Tenant::Tenant(const Tenants& all, std::string_view name)
    : all_(all), name_(name), round_(all.round_) {}

std::int64_t Tenant::deficit() const {
  const std::int64_t quantum = all_.quantum_;
  const std::int64_t owed = round_ - all_.round_;  // rounds until the one in which it has credit
  return owed < 0 ? quantum : quantum - owed * quantum - used_;
}

Tenants::Tenants(std::int32_t quantum) : quantum_(quantum) { CHECK(quantum >= 1); }

Tenant* Tenants::Join(std::string_view name) {
  auto found = tenants_.find(View(name));
  if (found == tenants_.end()) {
    auto tenant = std::make_unique<Tenant>(*this, name);
    found = tenants_.emplace(tenant->name(), std::move(tenant)).first;
    rounds_.insert(round_);
  }
  ++found->second->jobs_;
  return found->second.get();
}

void Tenants::Leave(Tenant* tenant) {
  CHECK(tenant->jobs_ >= 1);
  if (--tenant->jobs_ > 0) return;
  for (const Seat seat : tenant->seats_) CHECK(seat == 0);
  rounds_.erase(rounds_.find(tenant->round_));
  const auto found = tenants_.find(View(tenant->name()));
  CHECK(found != tenants_.end());
  tenants_.erase(found);
  Advance();
}

void Tenants::Charge(Tenant& tenant, std::int64_t tokens) {
  CHECK(tokens >= 0);
  const std::int64_t left = tenant.deficit() + kMaxDebt;
  const std::int64_t used = quantum_ - tenant.deficit() + std::min(tokens, left);
  tenant.used_ = used % quantum_;
  MoveTo(tenant, round_ + used / quantum_);
  Advance();
}

void Tenants::BeginWaiting(Tenant& tenant, std::int32_t priority) {
  const auto at = static_cast<std::size_t>(priority);
  CHECK(tenant.seats_.at(at) == 0);
  tenant.seats_[at] = ++last_seat_;
  Sit(rings_[at], tenant, last_seat_);
}

void Tenants::EndWaiting(Tenant& tenant, std::int32_t priority) {
  const auto at = static_cast<std::size_t>(priority);
  CHECK(tenant.seats_.at(at) != 0);
  StandUp(rings_[at], tenant, std::exchange(tenant.seats_[at], 0));
}

Tenant* Tenants::Turn(std::int32_t priority) {
  Ring& ring = rings_.at(static_cast<std::size_t>(priority));
  if (ring.in_credit.empty() && !ring.in_debt.empty()) {
    round_ = std::max(round_, ring.in_debt.begin()->first.first);
  }
  while (!ring.in_debt.empty() && ring.in_debt.begin()->first.first <= round_) {
    const auto paid = ring.in_debt.begin();
    ring.in_credit.emplace(paid->first.second, paid->second);
    ring.in_debt.erase(paid);
  }
  return ring.in_credit.empty() ? nullptr : ring.in_credit.begin()->second;
}

bool Tenants::IsWaiting(const Tenant& tenant, std::int32_t priority) const {
  return tenant.seats_.at(static_cast<std::size_t>(priority)) != 0;
}

std::size_t Tenants::CountWaiting(std::int32_t priority) const {
  const Ring& ring = rings_.at(static_cast<std::size_t>(priority));
  return ring.in_credit.size() + ring.in_debt.size();
}

void Tenants::Sit(Ring& ring, Tenant& tenant, Seat seat) {
  if (tenant.round_ <= round_) {
    ring.in_credit.emplace(seat, &tenant);
  } else {
    ring.in_debt.emplace(std::pair(tenant.round_, seat), &tenant);
  }
}

void Tenants::StandUp(Ring& ring, const Tenant& tenant, Seat seat) {
  // One that owed is still among those in debt until the next turn is asked for.
  const std::size_t left =
      ring.in_credit.erase(seat) + ring.in_debt.erase(std::pair(tenant.round_, seat));
  CHECK(left == 1);
}

void Tenants::MoveTo(Tenant& tenant, std::int64_t round) {
  if (tenant.round_ == round) return;
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    if (tenant.seats_[i] != 0) StandUp(rings_[i], tenant, tenant.seats_[i]);
  }
  rounds_.erase(rounds_.find(tenant.round_));
  rounds_.insert(round);
  tenant.round_ = round;
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    if (tenant.seats_[i] != 0) Sit(rings_[i], tenant, tenant.seats_[i]);
  }
}

void Tenants::Advance() {
  if (!rounds_.empty()) round_ = std::max(round_, *rounds_.begin());
}

absl::Status Tenants::CheckInvariants() const {
  std::multiset<std::int64_t> rounds;
  std::array<std::size_t, kMaxPriority + 1> seated{};
  for (const auto& [name, tenant] : tenants_) {
    const auto wrong = [&name = name](absl::string_view what) {
      return absl::InternalError(absl::StrCat("tenant '", name, "' ", what));
    };
    rounds.insert(tenant->round_);
    if (tenant->name() != name) return wrong("is kept under another name");
    if (tenant->jobs_ < 1) return wrong("has no jobs");
    if (tenant->used_ < 0 || tenant->used_ >= quantum_) return wrong("used over a quantum");
    if (tenant->deficit() > quantum_ || tenant->deficit() < -kMaxDebt) {
      return wrong("has a deficit out of bounds");
    }
    for (std::size_t i = 0; i < rings_.size(); ++i) {
      const Seat seat = tenant->seats_[i];
      if (seat == 0) continue;
      ++seated[i];
      const auto in_credit = rings_[i].in_credit.find(seat);
      const auto in_debt = rings_[i].in_debt.find(std::pair(tenant->round_, seat));
      const bool has_credit = in_credit != rings_[i].in_credit.end();
      const bool has_debt = in_debt != rings_[i].in_debt.end();
      if (has_credit == has_debt) return wrong("has no seat, or two");
      if ((has_credit ? in_credit->second : in_debt->second) != tenant.get()) {
        return wrong("has another one's seat");
      }
      if (has_credit && tenant->deficit() <= 0) return wrong("has the turn and a debt");
    }
  }
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    if (CountWaiting(static_cast<std::int32_t>(i)) != seated[i]) {
      return absl::InternalError(absl::StrCat("seats at priority ", i, " of nobody"));
    }
  }
  if (rounds != rounds_) return absl::InternalError("rounds of tenants that are not there");
  if (!rounds_.empty() && *rounds_.begin() > round_) {
    return absl::InternalError("all tenants are in debt");
  }
  return absl::OkStatus();
}

}  // namespace banyan::scheduler
