// Who shares the machine, and whose turn it is: deficit round robin over tokens, with debts.
//
// A round gives every tenant `quantum` tokens, and nobody saves up more than that. What a tenant's
// requests cost is taken off when it is known, so that a deficit may become a debt. The turn is
// with a tenant while its deficit is over 0, and goes on in the order in which they came to wait;
// when all those that wait are in debt, so many rounds pass as one of them needs. Rounds also pass
// while all tenants are in debt, so that who had the machine for himself owes nobody for it.
//
// After Shreedhar and Varghese, "Efficient fair queuing using deficit round robin", SIGCOMM 1995;
// charged afterwards as in surplus round robin.
//
// Invariant: -kMaxDebt <= deficit <= quantum. Of tenants that wait at the same priority from the
// same moment on, with equal deficits, what any two are charged for admissions differs by less than
// quantum + the largest charge. Rounds are counted, never walked through: each call is
// O(log tenants), amortized. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "scheduler/request.h"

namespace banyan::scheduler {

class Tenants;

// Lives from the Join of its first job to the Leave of its last.
class Tenant {
 public:
  Tenant(const Tenants& all, std::string_view name);

  const std::string& name() const { return name_; }
  std::int64_t deficit() const;  // tokens that it may still be charged in this round; <= 0: a debt

 private:
  friend class Tenants;
  using Seat = std::uint64_t;

  const Tenants& all_;
  const std::string name_;
  std::int64_t jobs_ = 0;
  // The first round in which its deficit is over 0, and what is used of that round's quantum:
  // deficit = min(quantum, (now's round - round_ + 1) * quantum - used_), 0 <= used_ < quantum.
  std::int64_t round_ = 0;
  std::int64_t used_ = 0;
  std::array<Seat, kMaxPriority + 1> seats_{};  // in each ring; 0 where it is not
};

class Tenants {
 public:
  static constexpr std::int64_t kMaxDebt = std::int64_t{1} << 40;  // what is over it is forgiven

  explicit Tenants(std::int32_t quantum);  // >= 1
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  // A job of that tenant came; a tenant that is new begins with a whole quantum.
  Tenant* Join(std::string_view name);
  // One of its jobs is finished. With its last one it is forgotten, debts and all; it waits nowhere
  // then.
  void Leave(Tenant* tenant);
  void Charge(Tenant& tenant, std::int64_t tokens);  // >= 0

  // For the queue: the tenant has jobs that wait at that aged priority, the first or none any more.
  void BeginWaiting(Tenant& tenant, std::int32_t priority);
  void EndWaiting(Tenant& tenant, std::int32_t priority);
  // Whose turn it is among those that wait at that priority; null when none does. The same one
  // until it is charged, stops waiting, or a turn was asked for at another priority.
  Tenant* Turn(std::int32_t priority);
  bool IsWaiting(const Tenant& tenant, std::int32_t priority) const;
  std::size_t CountWaiting(std::int32_t priority) const;  // tenants

  std::int32_t quantum() const { return quantum_; }
  std::size_t size() const { return tenants_.size(); }
  absl::Status CheckInvariants() const;  // O(tenants)

 private:
  friend class Tenant;
  using Seat = Tenant::Seat;

  // The tenants that wait at one priority. A seat is kept while its tenant waits there.
  struct Ring {
    std::map<Seat, Tenant*> in_credit;                         // round_ <= round
    std::map<std::pair<std::int64_t, Seat>, Tenant*> in_debt;  // by round_; some paid meanwhile
  };

  void Sit(Ring& ring, Tenant& tenant, Seat seat);
  void StandUp(Ring& ring, const Tenant& tenant, Seat seat);
  void MoveTo(Tenant& tenant, std::int64_t round);  // its round_ becomes that
  void Advance();                                   // until a tenant is in credit

  const std::int32_t quantum_;
  absl::flat_hash_map<std::string, std::unique_ptr<Tenant>> tenants_;
  std::multiset<std::int64_t> rounds_;  // round_ of each tenant
  std::array<Ring, kMaxPriority + 1> rings_;
  std::int64_t round_ = 0;
  Seat last_seat_ = 0;
};

}  // namespace banyan::scheduler
