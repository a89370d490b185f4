#include "scheduler/tenants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace banyan::scheduler {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// Tenants with jobs that always wait, all at the same priority.
class Ring {
 public:
  explicit Ring(std::int32_t quantum) : tenants_(quantum) {}
  ~Ring() { EXPECT_TRUE(tenants_.CheckInvariants().ok()) << tenants_.CheckInvariants(); }

  Tenant& Come(const std::string& name) {
    Tenant& tenant = *tenants_.Join(name);
    tenants_.BeginWaiting(tenant, 0);
    return tenant;
  }
  // Whose turns they are, when each admission costs so much.
  std::string Turns(int admissions, std::int64_t tokens) {
    std::string names;
    for (int i = 0; i < admissions; ++i) {
      names += tenants_.Turn(0)->name();
      tenants_.Charge(*tenants_.Turn(0), tokens);
      EXPECT_TRUE(tenants_.CheckInvariants().ok()) << tenants_.CheckInvariants();
    }
    return names;
  }
  Tenants& tenants() { return tenants_; }

 private:
  Tenants tenants_;
};

TEST(TenantsTest, ATenantIsTheSameForAllItsJobs) {
  Tenants tenants(10);
  Tenant* a = tenants.Join("a");
  EXPECT_EQ(tenants.Join("a"), a);
  EXPECT_NE(tenants.Join("b"), a);
  EXPECT_EQ(a->name(), "a");
  EXPECT_EQ(tenants.size(), 2u);
}

TEST(TenantsTest, NamesAreAnyBytes) {
  Tenants tenants(10);
  const std::string names[] = {"", std::string(1, '\0'), std::string(2, '\0'), "\xff"};
  for (const std::string& name : names) EXPECT_EQ(tenants.Join(name)->name(), name);
  EXPECT_EQ(tenants.size(), 4u);
}

TEST(TenantsTest, OneIsForgottenWithItsLastJob) {
  Tenants tenants(10);
  tenants.Join("other");
  Tenant* a = tenants.Join("a");
  tenants.Join("a");
  tenants.Charge(*a, 15);
  tenants.Leave(a);
  EXPECT_EQ(tenants.Join("a")->deficit(), -5) << "one of its jobs was still there";
  tenants.Leave(a);
  tenants.Leave(a);
  EXPECT_EQ(tenants.size(), 1u);
  EXPECT_EQ(tenants.Join("a")->deficit(), 10) << "debts and all";
}

TEST(TenantsTest, AnyNumberOfTenantsMayComeAndGo) {
  Tenants tenants(10);
  tenants.Join("stays");
  for (int i = 0; i < 100'000; ++i) {
    Tenant* tenant = tenants.Join(std::to_string(i));
    tenants.BeginWaiting(*tenant, i % 10);
    tenants.Charge(*tenant, i);
    tenants.EndWaiting(*tenant, i % 10);
    tenants.Leave(tenant);
  }
  EXPECT_EQ(tenants.size(), 1u);
  for (int i = 0; i <= kMaxPriority; ++i) EXPECT_EQ(tenants.CountWaiting(i), 0u);
  EXPECT_TRUE(tenants.CheckInvariants().ok());
}

TEST(TenantsTest, NobodyHasTheTurnWhenNobodyWaits) {
  Ring ring(10);
  EXPECT_EQ(ring.tenants().Turn(0), nullptr);
  Tenant& a = ring.Come("a");
  EXPECT_EQ(ring.tenants().Turn(0), &a);
  EXPECT_EQ(ring.tenants().Turn(1), nullptr);
  ring.tenants().EndWaiting(a, 0);
  EXPECT_EQ(ring.tenants().Turn(0), nullptr);
}

TEST(TenantsTest, TheTurnLastsUntilTheQuantumIsUsed) {
  for (const std::int64_t used : {9, 10, 11}) {
    Ring ring(10);
    Tenant& a = ring.Come("a");
    Tenant& b = ring.Come("b");
    ring.tenants().Charge(a, used);
    EXPECT_EQ(a.deficit(), 10 - used);
    EXPECT_EQ(ring.tenants().Turn(0), used < 10 ? &a : &b);
  }
}

TEST(TenantsTest, AskingWhoseTurnItIsChangesNothing) {
  Ring ring(10);
  Tenant& a = ring.Come("a");
  Tenant& b = ring.Come("b");
  Tenant& c = ring.Come("c");
  ring.tenants().Charge(a, 25);
  ring.tenants().Charge(b, 12);
  ring.tenants().Charge(c, 12);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ring.tenants().Turn(0), &b);
    EXPECT_EQ(a.deficit(), -5);
    EXPECT_EQ(b.deficit(), 8);
    EXPECT_EQ(c.deficit(), 8);
  }
}

TEST(TenantsTest, TurnsGoRoundInTheOrderOfComing) {
  Ring ring(10);
  ring.Come("a");
  ring.Come("b");
  ring.Come("c");
  EXPECT_EQ(ring.Turns(12, 5), "aabbccaabbcc");
}

TEST(TenantsTest, WhatWentOverTheQuantumIsOwedInTheNextRounds) {
  Ring ring(10);
  Tenant& a = ring.Come("a");
  ring.Come("b");
  ring.tenants().Charge(a, 35);  // 25 over: two whole rounds and a half
  EXPECT_EQ(ring.Turns(10, 5), "bbbbbbabba");
}

TEST(TenantsTest, WhenAllAreInDebtTheFirstToHavePaidIsNext) {
  Ring ring(10);
  Tenant& a = ring.Come("a");
  Tenant& b = ring.Come("b");
  Tenant& c = ring.Come("c");
  ring.tenants().Charge(a, 1'000'005);
  ring.tenants().Charge(b, 1'000'000'000'003);
  ring.tenants().Charge(c, 1'000'017);
  EXPECT_EQ(ring.tenants().Turn(0), &a);
  EXPECT_EQ(a.deficit(), 5);
  EXPECT_EQ(c.deficit(), -7);
  EXPECT_EQ(ring.Turns(5, 5), "aaaca") << "c has credit in the next round, and sits behind a";
}

TEST(TenantsTest, RoundsAreNotWalkedThrough) {
  Ring ring(1);
  std::vector<Tenant*> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(&ring.Come(std::to_string(i)));
  for (int i = 0; i < 1'000; ++i)
    ring.tenants().Charge(*all[static_cast<std::size_t>(i)], Tenants::kMaxDebt - i);
  EXPECT_EQ(ring.Turns(3, Tenants::kMaxDebt), "999998997");
}

TEST(TenantsTest, WhoIsAloneOwesNobody) {
  Ring ring(10);
  Tenant& a = ring.Come("a");
  EXPECT_EQ(ring.Turns(3, 1'234'567), "aaa");
  EXPECT_GT(a.deficit(), 0);
  Tenant& b = ring.Come("b");
  EXPECT_EQ(b.deficit(), 10);
  EXPECT_EQ(ring.Turns(6, 10), "ababab");
}

TEST(TenantsTest, WhoIsLeftAloneOwesNobodyEither) {
  Tenants tenants(10);
  Tenant* a = tenants.Join("a");
  Tenant* b = tenants.Join("b");
  tenants.Charge(*a, 45);
  EXPECT_EQ(a->deficit(), -35);
  tenants.Leave(b);
  EXPECT_EQ(a->deficit(), 5);
  EXPECT_TRUE(tenants.CheckInvariants().ok());
}

TEST(TenantsTest, NothingIsSavedUp) {
  Ring ring(10);
  Tenant& idle = *ring.tenants().Join("idle");
  ring.Come("a");
  ring.Turns(100, 10);
  EXPECT_EQ(idle.deficit(), 10);
  ring.tenants().BeginWaiting(idle, 0);
  EXPECT_EQ(idle.deficit(), 10);
  ring.tenants().Charge(idle, 4);
  EXPECT_EQ(idle.deficit(), 6);
}

TEST(TenantsTest, DebtsArePaidWhileOthersAreServed) {
  Ring ring(10);
  Tenant& running = *ring.tenants().Join("running");
  ring.tenants().Join("idle");
  ring.tenants().Charge(running, 45);
  EXPECT_EQ(running.deficit(), -35);
  ring.Come("a");
  ring.Come("b");
  EXPECT_EQ(ring.Turns(6, 10), "ababab");
  EXPECT_EQ(running.deficit(), -15) << "two rounds ended";
}

TEST(TenantsTest, ADebtIsBounded) {
  Ring ring(10);
  ring.Come("other");
  Tenant& a = ring.Come("a");
  ring.tenants().Charge(a, Tenants::kMaxDebt + 9);
  EXPECT_EQ(a.deficit(), -Tenants::kMaxDebt + 1);
  ring.tenants().Charge(a, 1);
  EXPECT_EQ(a.deficit(), -Tenants::kMaxDebt);
  ring.tenants().Charge(a, 1);
  EXPECT_EQ(a.deficit(), -Tenants::kMaxDebt);
}

TEST(TenantsTest, NoChargeOverflows) {
  for (const std::int32_t quantum : {1, 1024, std::numeric_limits<std::int32_t>::max()}) {
    Ring ring(quantum);
    Tenant& a = ring.Come("a");
    ring.Come("b");
    ring.tenants().Charge(a, 0);
    EXPECT_EQ(a.deficit(), quantum);
    EXPECT_EQ(ring.Turns(9, kHuge), "ababababa");
    EXPECT_EQ(a.deficit(), -Tenants::kMaxDebt);
  }
}

TEST(TenantsTest, ADeficitIsOneForAllPriorities) {
  Ring ring(10);
  Tenant& a = ring.Come("a");
  Tenant& b = ring.Come("b");
  ring.tenants().BeginWaiting(a, 9);
  EXPECT_EQ(ring.tenants().Turn(9), &a);
  ring.tenants().Charge(a, 10);
  EXPECT_EQ(ring.tenants().Turn(0), &b) << "a's turn was used up at the other priority";
  EXPECT_EQ(ring.tenants().Turn(9), &a) << "nobody else waits there, and a's next round begins";
  EXPECT_EQ(a.deficit(), 10);
  EXPECT_EQ(b.deficit(), 10) << "and everybody's";
  ring.tenants().EndWaiting(a, 9);
}

TEST(TenantsTest, ATurnIsNotTakenAwayByWhoComesLater) {
  Ring ring(10);
  Tenant& early = ring.Come("e");
  Tenant& a = ring.Come("a");
  ring.tenants().EndWaiting(early, 0);
  EXPECT_EQ(ring.Turns(1, 5), "a");
  ring.tenants().BeginWaiting(early, 0);  // known before a, but it waits behind it now
  Tenant& late = ring.Come("l");
  EXPECT_EQ(ring.tenants().Turn(0), &a);
  EXPECT_EQ(ring.Turns(6, 5), "aeella");
  ring.tenants().EndWaiting(late, 0);
}

// The tokens that others are charged until one who just came has the turn: each of them has at most
// one turn before, which ends with the request that uses up the quantum.
TEST(TenantsTest, ALightTenantWaitsAtMostOneRound) {
  constexpr std::int32_t kQuantum = 100;
  constexpr std::int64_t kLargest = 70;
  for (const int floods : {1, 2, 9}) {
    Ring ring(kQuantum);
    for (int i = 0; i < floods; ++i) ring.Come("flood" + std::to_string(i));
    ring.Turns(1'000, kLargest);
    Tenant& light = ring.Come("light");
    std::int64_t before = 0;
    while (ring.tenants().Turn(0) != &light) {
      ring.tenants().Charge(*ring.tenants().Turn(0), kLargest);
      before += kLargest;
    }
    EXPECT_LT(before, floods * (kQuantum + kLargest)) << floods;
  }
}

struct Shares {
  std::int32_t quantum;
  std::vector<std::int64_t> sizes;  // of the requests of each tenant
};

class SharesTest : public testing::TestWithParam<Shares> {};

TEST_P(SharesTest, AllThatWaitGetTheSameToWithinAQuantumAndARequest) {
  Ring ring(GetParam().quantum);
  const std::vector<std::int64_t>& sizes = GetParam().sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) ring.Come(std::to_string(i));
  const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::int64_t> got(sizes.size());
  std::int64_t widest = 0;
  for (int i = 0; i < 20'000; ++i) {
    Tenant* tenant = ring.tenants().Turn(0);
    const auto which = static_cast<std::size_t>(std::stoi(tenant->name()));
    ring.tenants().Charge(*tenant, sizes[which]);
    got[which] += sizes[which];
    const auto [least, most] = std::minmax_element(got.begin(), got.end());
    widest = std::max(widest, *most - *least);
  }
  EXPECT_LT(widest, GetParam().quantum + largest);
  EXPECT_GE(*std::min_element(got.begin(), got.end()), 5 * largest) << "too short to say anything";
}

INSTANTIATE_TEST_SUITE_P(TenantsTest, SharesTest,
                         testing::Values(Shares{1, {1, 1}}, Shares{1, {1, 100}},
                                         Shares{1024, {10, 4'000}},
                                         Shares{1024, {1024, 1024, 1024}}, Shares{7, {3, 50, 11}},
                                         Shares{1'000, {1, 999, 1'001}}));

}  // namespace
}  // namespace banyan::scheduler
