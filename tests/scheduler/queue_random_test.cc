// The queue and its tenants against a reference that keeps nothing in order: whoever is asked for
// is looked for among all, tenants walk through their rounds one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/scheduler/waiting_room.h"

namespace banyan::scheduler {
namespace {

class ReferenceQueue {
 public:
  explicit ReferenceQueue(const Options& options) : options_(options) {}

  void Join(const std::string& tenant) {
    deficits_.emplace(tenant, options_.quantum);
    ++jobs_[tenant];
  }
  void Leave(const std::string& tenant) {
    if (--jobs_[tenant] > 0) return;
    deficits_.erase(tenant);
    WhileAllAreInDebt();
  }
  void Charge(const std::string& tenant, std::int64_t tokens) {
    deficits_[tenant] -= tokens;
    WhileAllAreInDebt();
  }
  std::int64_t deficit(const std::string& tenant) const { return deficits_.at(tenant); }
  std::int64_t passes(const Job* job) const { return passes_.contains(job) ? passes_.at(job) : 0; }

  void Push(const Job* job, Tick now) { Enter(job, Aged(job, now)); }
  void Remove(const Job* job) {
    const auto [priority, tenant] = Exit(job);
    Settle(priority, tenant);
  }
  void Forget(const Job* job) { passes_.erase(job); }

  const Job* Next(Tick now) {
    Promote(now);
    for (int priority = kMaxPriority; priority >= 0; --priority) {
      const std::list<std::string>& ring = rings_[priority];
      while (!ring.empty()) {
        for (const std::string& tenant : ring) {
          if (deficits_[tenant] > 0) return NextOf(priority, tenant);
        }
        Round();
      }
    }
    return nullptr;
  }
  void Admit(const Job* job) {
    const Job* oldest = job;
    for (const auto& [other, priority] : waiting_) {
      if (priority == waiting_[job] && other->tenant == job->tenant &&
          other->arrival < oldest->arrival) {
        oldest = other;
      }
    }
    if (oldest != job) ++passes_[oldest];
    Remove(job);
  }

 private:
  Tick Submitted(const Job* job) const {
    return job->due + job->request.priority * options_.ageing;
  }
  int Aged(const Job* job, Tick now) const {
    std::int64_t priority = job->request.priority;
    for (Tick at = Submitted(job) + options_.ageing; at <= now; at += options_.ageing) ++priority;
    return static_cast<int>(std::min<std::int64_t>(priority, kMaxPriority));
  }

  void Enter(const Job* job, int priority) {
    waiting_[job] = priority;
    std::list<std::string>& ring = rings_[priority];
    const std::string& tenant = job->tenant->name();
    if (std::find(ring.begin(), ring.end(), tenant) == ring.end()) ring.push_back(tenant);
  }
  std::pair<int, std::string> Exit(const Job* job) {
    const int priority = waiting_.at(job);
    waiting_.erase(job);
    return {priority, job->tenant->name()};
  }
  // The tenant leaves its ring when it has nothing there.
  void Settle(int priority, const std::string& tenant) {
    for (const auto& [job, at] : waiting_) {
      if (at == priority && job->tenant->name() == tenant) return;
    }
    rings_[priority].remove(tenant);
  }

  void Promote(Tick now) {
    std::vector<std::pair<std::pair<Tick, std::uint64_t>, const Job*>> due;
    for (const auto& [job, priority] : waiting_) {
      if (priority == kMaxPriority) continue;
      const Tick at = Submitted(job) + (priority + 1 - job->request.priority) * options_.ageing;
      if (at <= now) due.push_back({{at, job->arrival}, job});
    }
    std::sort(due.begin(), due.end());
    for (const auto& [when, job] : due) {
      const auto [priority, tenant] = Exit(job);
      Settle(priority, tenant);
      Enter(job, Aged(job, now));
    }
  }

  const Job* NextOf(int priority, const std::string& tenant) const {
    std::vector<const Job*> jobs;
    for (const auto& [job, at] : waiting_) {
      if (at == priority && job->tenant->name() == tenant) jobs.push_back(job);
    }
    std::sort(jobs.begin(), jobs.end(),
              [](const Job* a, const Job* b) { return a->arrival < b->arrival; });
    if (passes(jobs[0]) >= options_.max_passes) return jobs[0];
    std::stable_sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) {
      return a->watch.cached_tokens() > b->watch.cached_tokens();
    });
    return jobs[0];
  }

  void Round() {
    for (auto& [tenant, deficit] : deficits_) {
      deficit = std::min<std::int64_t>(deficit + options_.quantum, options_.quantum);
    }
  }
  void WhileAllAreInDebt() {
    while (!deficits_.empty() && std::all_of(deficits_.begin(), deficits_.end(),
                                             [](const auto& of) { return of.second <= 0; })) {
      Round();
    }
  }

  const Options options_;
  std::map<std::string, std::int64_t> deficits_;
  std::map<std::string, int> jobs_;
  std::map<int, std::list<std::string>> rings_;
  std::map<const Job*, int> waiting_;  // and at which priority
  std::map<const Job*, std::int64_t> passes_;
};

// Both, told the same.
class Pair {
 public:
  Pair(const Options& options, std::uint64_t seed)
      : room_(options), reference_(options), random_(seed) {}

  void Step() {
    switch (Below(10)) {
      case 0:
      case 1:
      case 2:
        return filling_ ? Come() : Admit();
      case 3:
        return room_.Advance(Tick(Below(30)));
      case 4:
        return waiting_.empty() ? void() : room_.SetCached(*Pick(waiting_), Below(6));
      case 5:
        return waiting_.empty() ? void() : Leave();
      case 6:
        return running_.empty() ? void() : Return();
      case 7:
        return running_.empty() ? void() : Charge(Pick(running_), Below(3));
      default:
        return Admit();
    }
  }

  void Compare() {
    CompareTenants();
    ASSERT_EQ(room_.Next(), reference_.Next(room_.now()));
    CompareTenants();
    ASSERT_EQ(room_.queue().size(), waiting_.size());
    room_.CheckInvariants();
  }

  int admissions() const { return admissions_; }
  std::int64_t passes() { return room_.queue().passes(); }

 private:
  void CompareTenants() {
    for (const std::vector<Job*>* jobs : {&waiting_, &running_}) {
      for (const Job* job : *jobs) {
        ASSERT_EQ(job->tenant->deficit(), reference_.deficit(job->tenant->name()));
        ASSERT_EQ(job->place.passes, reference_.passes(job));
      }
    }
  }

  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  Job* Pick(const std::vector<Job*>& jobs) {
    return jobs[static_cast<std::size_t>(Below(static_cast<int>(jobs.size())))];
  }

  void Come() {
    filling_ = waiting_.size() < 40;
    const std::string tenant(1, static_cast<char>('a' + std::min(Below(5), Below(8))));
    const int priority = Below(3) == 0 ? Below(10) : 0;
    reference_.Join(tenant);
    Job& job = room_.Come({.tenant = tenant, .priority = priority, .cached = Below(6)});
    reference_.Push(&job, room_.now());
    waiting_.push_back(&job);
  }
  void Admit() {
    filling_ |= waiting_.empty();
    if (waiting_.empty()) return;
    reference_.Next(room_.now());
    Job& job = room_.Admit();
    reference_.Admit(&job);
    std::erase(waiting_, &job);
    running_.push_back(&job);
    Charge(&job, Below(25));
    ++admissions_;
  }
  void Charge(Job* job, std::int64_t tokens) {
    room_.tenants().Charge(*job->tenant, tokens);
    reference_.Charge(job->tenant->name(), tokens);
  }
  // Cancelled, or it follows.
  void Leave() {
    Job* job = Pick(waiting_);
    std::erase(waiting_, job);
    reference_.Remove(job);
    if (Below(2) == 0) {
      room_.Remove(*job);
      running_.push_back(job);
    } else {
      Finish(job);
    }
  }
  // Finished, or preempted, or it followed.
  void Return() {
    Job* job = Pick(running_);
    std::erase(running_, job);
    if (Below(3) == 0) {
      room_.Push(*job);
      reference_.Push(job, room_.now());
      waiting_.push_back(job);
    } else {
      Finish(job);
    }
  }
  void Finish(Job* job) {
    const std::string tenant = job->tenant->name();
    reference_.Forget(job);
    room_.Finish(*job);
    reference_.Leave(tenant);
  }

  WaitingRoom room_;
  ReferenceQueue reference_;
  std::mt19937_64 random_;
  std::vector<Job*> waiting_;
  std::vector<Job*> running_;  // or they follow
  bool filling_ = true;        // the queue, up to a bound; then it is emptied
  int admissions_ = 0;
};

TEST(QueueRandomTest, AgreesWithAReferenceThatKeepsNothingInOrder) {
  std::int64_t passes = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Options options;
    options.max_passes = static_cast<std::int32_t>(seed % 4);
    options.ageing = Tick(seed % 3 == 0 ? 1'000 : 70);
    options.quantum = seed % 2 == 0 ? 10 : 1;
    Pair pair(options, seed);
    for (int step = 0; step < 1'500; ++step) {
      pair.Step();
      pair.Compare();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " step " << step;
    }
    EXPECT_GT(pair.admissions(), 200);
    passes += pair.passes();
  }
  EXPECT_GT(passes, 100);
}

}  // namespace
}  // namespace banyan::scheduler
