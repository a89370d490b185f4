// The invariant checker: who has each job, and what the accounts should say, recounted from the
// jobs alone.
#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "scheduler/impl.h"

namespace banyan::scheduler {
namespace {

class Findings {
 public:
  explicit Findings(const Job& job) : id_(static_cast<std::uint64_t>(job.request.id)) {}

  void Require(bool condition, std::string_view what) {
    if (condition || !status_.ok()) return;
    status_ = absl::InternalError(absl::StrCat("request ", id_, ": ", std::string(what)));
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::uint64_t id_;
  absl::Status status_;
};

bool IsFollowerOf(Job& job, const Job& producer) {
  return producer.followers.contains(&job) && producer.follower_dues.contains(job.due);
}

void CheckTokens(const Job& job, Findings& findings) {
  const std::int64_t computed = job.view.tokens();
  findings.Require(job.output_tokens() >= 0 && job.output_tokens() <= job.max_output,
                   "more output than it may have");
  findings.Require(computed <= job.known_tokens(), "KV of tokens that are not known");
  findings.Require(job.state != RequestState::kDecode || job.to_compute() == 1,
                   "decodes, but other tokens than the last one are to be computed");
  findings.Require(job.state != RequestState::kPrefill || job.to_compute() >= 1,
                   "prefills, but everything is computed");
  findings.Require(job.computed_tokens >= computed, "has more than it ever had");
  findings.Require(job.cached_tokens < job.prompt_tokens, "the whole prompt counts as cached");
}

void CheckPlace(Job& job, bool is_listed, Findings& findings) {
  const bool waits = job.state == RequestState::kWaiting;
  const bool follows = job.state == RequestState::kFollowing;
  findings.Require(job.state != RequestState::kFinished, "finished, and still known");
  findings.Require(job.place.is_in == waits, "in the queue exactly while it waits");
  findings.Require(waits || !job.watch.is_on(), "watched, but it does not wait");
  findings.Require(job.is_running() == is_listed, "listed as running exactly while it runs");
  findings.Require(job.is_running() == job.view.is_open(), "has a view exactly while it runs");
  findings.Require(job.is_running() == (job.open_page >= 0),
                   "has an open page exactly while it runs");
  findings.Require(job.is_running() || job.reserved_pages == 0, "promised pages, but not running");
  findings.Require(job.reserved_pages >= 0, "took more pages than it was promised");
  findings.Require(follows == (job.producer != nullptr), "has a producer exactly while it follows");
  findings.Require(job.followers.size() == job.follower_dues.size(), "followers without dues");
  findings.Require(job.followers.empty() || job.state == RequestState::kPrefill,
                   "has followers, but computes no prompt");
  if (!follows) return;
  const Job& producer = *job.producer;
  findings.Require(IsFollowerOf(job, producer), "its producer does not know it");
  findings.Require(producer.view.tokens() < job.follow_until,
                   "was not served, but has what it needs");
  findings.Require(job.follow_until <= std::min(producer.known_tokens(), producer.exact_tokens()) &&
                       job.follow_until <= job.exact_tokens() &&
                       job.follow_until < job.known_tokens(),
                   "waits for what will not come");
}

void CheckAside(const Job& job, Findings& findings) {
  if (!job.aside) return;
  const Aside& aside = *job.aside;
  findings.Require(job.policy != nullptr && aside.tokens > job.exact_tokens(),
                   "has put aside what the tree may have");
  findings.Require(job.observer != kernels::Observation::kNobody,
                   "has put something aside, but not who observes it");
  findings.Require(!job.is_running() || job.view.tokens() == aside.tokens,
                   "goes on, and what it has put aside did not come back");
  findings.Require(!aside.places.empty(), "has put nothing aside");
}

void CheckKept(const Job& job, const radix::PrefixCache& cache, Findings& findings) {
  if (job.policy == nullptr || !job.is_running()) return;
  const std::int64_t exact = job.exact_tokens();
  const std::int64_t most = exact / cache.options().page_size + job.policy->max_own_pages();
  findings.Require(static_cast<std::int64_t>(job.view.page_table().size()) <= most,
                   "holds more pages than its policy keeps");
  findings.Require(job.view.tokens() <= exact || !cache.Publishes(job.view),
                   "publishes what is not exact");
}

}  // namespace

absl::Status Scheduler::Impl::CheckInvariants() const {
  std::int64_t waiting = 0;
  std::int64_t following = 0;
  std::int64_t reserved = 0;
  std::vector<bool> open_pages(static_cast<std::size_t>(options_.max_running), false);
  std::int64_t aside = 0;
  for (const auto& [id, owned] : jobs_) {
    Job& job = *owned;
    Findings findings(job);
    CheckTokens(job, findings);
    CheckPlace(job, std::find(running_.begin(), running_.end(), &job) != running_.end(), findings);
    CheckKept(job, cache_, findings);
    CheckAside(job, findings);
    findings.Require(in_flight_ || !job.in_batch, "in a batch, but no step is in flight");
    findings.Require(in_flight_ || job.state != RequestState::kEnding,
                     "ending, but no step is in flight");
    if (job.open_page >= 0) {
      const auto open = static_cast<std::size_t>(job.open_page);
      findings.Require(open < open_pages.size() && !open_pages[open], "has another's open page");
      if (open < open_pages.size()) open_pages[open] = true;
    }
    if (!findings.status().ok()) return findings.status();
    waiting += job.state == RequestState::kWaiting ? 1 : 0;
    following += job.state == RequestState::kFollowing ? 1 : 0;
    reserved += job.reserved_pages;
    if (job.aside) aside += std::ssize(job.aside->places);
  }
  const auto running = static_cast<std::int64_t>(running_.size());
  if (running > options_.max_running) return absl::InternalError("more run than may");
  if (static_cast<std::int64_t>(jobs_.size()) != waiting + following + running) {
    return absl::InternalError("a job is in two places, or in none");
  }
  if (static_cast<std::int64_t>(queue_.size()) != waiting) {
    return absl::InternalError("the queue has other jobs than those that wait");
  }
  if (rendezvous_.following() != following) {
    return absl::InternalError("followers are not counted right");
  }
  if (pages_.reserved() != reserved || cache_.available_pages() < reserved) {
    return absl::InternalError("pages were promised that are not to be had");
  }
  if (pages_.pages_aside() != aside || aside > options_.max_pages_aside) {
    return absl::InternalError("places for pages that nobody has, or too many");
  }
  if (absl::Status status = tenants_.CheckInvariants(); !status.ok()) return status;
  return queue_.CheckInvariants(latest_);
}

}  // namespace banyan::scheduler
