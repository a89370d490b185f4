#include "scheduler/rendezvous.h"

#include <algorithm>

#include "base/check.h"
#include "base/common_length.h"

namespace banyan::scheduler {
namespace {

bool SharePages(const Job& a, const Job& b) {
  return a.tenant == b.tenant && a.request.cache_salt == b.request.cache_salt;
}

}  // namespace

Rendezvous::Lead Rendezvous::Find(const Job& job, std::int64_t limit, std::int64_t cached,
                                  std::span<Job* const> running, const radix::PrefixCache& cache) {
  Lead lead{.producer = nullptr, .until = cached};
  const auto wanted = std::span(job.tokens).first(static_cast<std::size_t>(limit));
  for (Job* other : running) {
    if (other->state != RequestState::kPrefill || !SharePages(job, *other)) continue;
    if (other->view.tokens() >= limit || !cache.Publishes(other->view)) continue;
    const std::int64_t common = cache.options().Shared(
        std::min<std::int64_t>(CommonLength(wanted, other->tokens), other->exact_tokens()));
    // What it has computed already is published: if that is not in the cache, it will not come.
    if (common <= lead.until || common <= other->view.tokens()) continue;
    lead = {.producer = other, .until = common};
  }
  return lead;
}

void Rendezvous::Follow(Job& job, const Lead& lead) {
  CHECK(lead.producer != nullptr && lead.producer != &job && job.producer == nullptr);
  job.MoveTo(RequestState::kFollowing);
  job.producer = lead.producer;
  job.follow_until = lead.until;
  CHECK(lead.producer->followers.insert(&job).second);
  lead.producer->follower_dues.insert(job.due);
  ++following_;
}

void Rendezvous::Leave(Job& follower) {
  CHECK(follower.producer != nullptr);
  Job& producer = *follower.producer;
  CHECK(producer.followers.erase(&follower) == 1);
  producer.follower_dues.erase(producer.follower_dues.find(follower.due));
  follower.producer = nullptr;
  --following_;
}

Tick Rendezvous::Due(const Job& job) {
  return job.follower_dues.empty() ? job.due : std::min(job.due, *job.follower_dues.begin());
}

std::vector<Job*> Rendezvous::TakeServed(Job& producer) {
  std::vector<Job*> served;
  while (!producer.followers.empty()) {
    Job* first = *producer.followers.begin();
    if (first->follow_until > producer.view.tokens()) break;
    Leave(*first);
    served.push_back(first);
  }
  return served;
}

std::vector<Job*> Rendezvous::TakeAll(Job& producer) {
  std::vector<Job*> all(producer.followers.begin(), producer.followers.end());
  for (Job* follower : all) Leave(*follower);
  return all;
}

}  // namespace banyan::scheduler
