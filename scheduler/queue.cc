#include "scheduler/queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "scheduler/priority.h"

namespace banyan::scheduler {

Queue::Queue(const Options& options, Tenants& tenants)
    : max_passes_(options.max_passes), ageing_(options.ageing), tenants_(tenants) {
  CHECK(options.max_passes >= 0);
  CHECK(options.ageing > Tick(0) && options.ageing <= kMaxAgeing);
}

Tick Queue::PromotionOf(const Job& job) const {
  return job.due + (job.place.priority + 1) * ageing_;
}

bool Queue::LongestFirst::operator()(const Job* a, const Job* b) const {
  if (a->place.cached_tokens != b->place.cached_tokens) {
    return a->place.cached_tokens > b->place.cached_tokens;
  }
  return a->arrival < b->arrival;
}

void Queue::Push(Job& job, Tick now) {
  CHECK(!job.place.is_in && job.tenant != nullptr);
  job.place.is_in = true;
  job.place.priority = AgedPriority(job.due, now, ageing_);
  job.place.cached_tokens = job.watch.cached_tokens();
  Insert(job);
  ++size_;
}

void Queue::Remove(Job& job) {
  CHECK(job.place.is_in);
  Erase(job);
  job.place.is_in = false;
  --size_;
}

void Queue::Rematch(Job& job) {
  CHECK(job.place.is_in);
  Class& waiting = levels_[static_cast<std::size_t>(job.place.priority)].at(job.tenant);
  CHECK(waiting.by_length.erase(&job) == 1);
  job.place.cached_tokens = job.watch.cached_tokens();
  waiting.by_length.insert(&job);
}

Job* Queue::Next(Tick now) {
  Promote(now);
  for (std::int32_t priority = kMaxPriority; priority >= 0; --priority) {
    Tenant* const tenant = tenants_.Turn(priority);
    if (tenant == nullptr) continue;
    return &NextOf(levels_[static_cast<std::size_t>(priority)].at(tenant));
  }
  return nullptr;
}

void Queue::Admit(Job& job, Tick now) {
  CHECK(Next(now) == &job);
  const Class& waiting = levels_[static_cast<std::size_t>(job.place.priority)].at(job.tenant);
  Job& oldest = **waiting.by_age.begin();
  if (&oldest != &job) {
    ++oldest.place.passes;
    ++passes_;
  }
  Remove(job);
}

Job& Queue::NextOf(const Class& waiting) const {
  Job& oldest = **waiting.by_age.begin();
  return oldest.place.passes >= max_passes_ ? oldest : **waiting.by_length.begin();
}

void Queue::Promote(Tick now) {
  while (!promotions_.empty() && promotions_.begin()->first.first <= now) {
    Job& job = *promotions_.begin()->second;
    Erase(job);
    job.place.priority = AgedPriority(job.due, now, ageing_);
    Insert(job);
  }
}

void Queue::Insert(Job& job) {
  const std::int32_t priority = job.place.priority;
  const auto [found, is_new] = levels_[static_cast<std::size_t>(priority)].try_emplace(job.tenant);
  if (is_new) tenants_.BeginWaiting(*job.tenant, priority);
  found->second.by_length.insert(&job);
  found->second.by_age.insert(&job);
  if (priority < kMaxPriority) promotions_.emplace(std::pair(PromotionOf(job), job.arrival), &job);
}

void Queue::Erase(Job& job) {
  const std::int32_t priority = job.place.priority;
  Level& level = levels_[static_cast<std::size_t>(priority)];
  const auto found = level.find(job.tenant);
  CHECK(found != level.end());
  CHECK(found->second.by_length.erase(&job) == 1);
  CHECK(found->second.by_age.erase(&job) == 1);
  if (found->second.by_age.empty()) {
    level.erase(found);
    tenants_.EndWaiting(*job.tenant, priority);
  }
  if (priority < kMaxPriority) {
    CHECK(promotions_.erase(std::pair(PromotionOf(job), job.arrival)) == 1);
  }
}

absl::Status Queue::CheckInvariants(Tick now) const {
  std::size_t size = 0;
  std::size_t promoted_later = 0;
  for (std::int32_t priority = 0; priority <= kMaxPriority; ++priority) {
    const Level& level = levels_[static_cast<std::size_t>(priority)];
    if (level.size() != tenants_.CountWaiting(priority)) {
      return absl::InternalError(absl::StrCat("tenants and classes differ at priority ", priority));
    }
    for (const auto& [tenant, waiting] : level) {
      absl::Status status = CheckClass(waiting, priority, tenant, now);
      if (!status.ok()) return status;
      size += waiting.by_age.size();
      if (priority < kMaxPriority) promoted_later += waiting.by_age.size();
    }
  }
  if (size != size_) return absl::InternalError("the queue's size is wrong");
  if (promoted_later != promotions_.size()) {
    return absl::InternalError("promotions of jobs that do not wait");
  }
  return tenants_.CheckInvariants();
}

absl::Status Queue::CheckClass(const Class& waiting, std::int32_t priority, const Tenant* tenant,
                               Tick now) const {
  if (!tenants_.IsWaiting(*tenant, priority)) {
    return absl::InternalError(absl::StrCat("'", tenant->name(), "' has a class and no seat"));
  }
  if (waiting.by_age.empty() || waiting.by_age.size() != waiting.by_length.size() ||
      !std::is_sorted(waiting.by_length.begin(), waiting.by_length.end(), LongestFirst())) {
    return absl::InternalError(absl::StrCat("the class of '", tenant->name(), "' at priority ",
                                            priority, " is empty or out of order"));
  }
  for (Job* job : waiting.by_age) {
    const auto wrong = [job](absl::string_view what) {
      return absl::InternalError(
          absl::StrCat("request ", static_cast<std::uint64_t>(job->request.id), " ", what));
    };
    const QueuePlace& place = job->place;
    if (!place.is_in) return wrong("is in the queue and says it is not");
    if (place.priority != priority || job->tenant != tenant) return wrong("is in another's class");
    if (!waiting.by_length.contains(job)) return wrong("is not in order of length");
    if (place.passes < 0 || place.passes > max_passes_) return wrong("was passed over too often");
    if (priority == kMaxPriority) continue;
    const Tick promotion = PromotionOf(*job);
    if (promotion > now && priority != AgedPriority(job->due, now, ageing_)) {
      return wrong("has another priority than its age gives");
    }
    const auto found = promotions_.find(std::pair(promotion, job->arrival));
    if (found == promotions_.end() || found->second != job) return wrong("is never promoted");
  }
  return absl::OkStatus();
}

}  // namespace banyan::scheduler
