#include "tests/sim/account_check.h"

#include <algorithm>
#include <string>
#include <utility>

namespace banyan::sim {

using radix::PageState;
using scheduler::FinishReason;
using scheduler::LengthLimit;
using scheduler::RequestState;

void AccountCheck::Check(bool in_flight) {
  if (stage_.scheduler != nullptr) {
    const absl::Status status = stage_.scheduler->CheckInvariants();
    if (!status.ok()) throw Failure("scheduler: " + std::string(status.message()));
  }
  const absl::Status status = stage_.cache.CheckInvariants();
  if (!status.ok()) throw Failure("tree: " + std::string(status.message()));
  if (stage_.scheduler != nullptr) {
    CheckStates(in_flight);
    CheckStats();
    const std::size_t left = stage_.scheduler->TakeLeft();
    Require(left == left_, "%d requests left the queue, not %d", kNobody,
            static_cast<std::int64_t>(left), static_cast<std::int64_t>(left_));
    stage_.inbox.Left(left);
    left_ = 0;
  }
  CheckPages();
}

void AccountCheck::CheckStates(bool in_flight) {
  waiting_ = following_ = running_ = 0;
  for (const Client& client : stage_.clients) {
    if (!client.submitted || client.finished) continue;
    const auto status = stage_.scheduler->Inspect(client.id, stage_.now());
    Require(status.has_value(), "is not known any more, and did not end", client.id);
    const RequestState state = status->state;
    if (client.running) {
      ++running_;
      const bool ending = client.ask != Ask::kNothing;
      Require(!ending || in_flight, "was cancelled, and still holds pages", client.id);
      Require(state == (ending           ? RequestState::kEnding
                        : client.prefill ? RequestState::kPrefill
                                         : RequestState::kDecode),
              "runs in state %d", client.id, static_cast<std::int64_t>(state));
    } else {
      ++waiting_;
      following_ += state == RequestState::kFollowing ? 1 : 0;
      Require(state == RequestState::kWaiting || state == RequestState::kFollowing,
              "waits in state %d", client.id, static_cast<std::int64_t>(state));
      Require(client.ask == Ask::kNothing, "was cancelled, and still waits", client.id);
    }
    Require(status->tokens == client.computed, "has %d tokens computed, not %d", client.id,
            status->tokens, client.computed);
  }
}

void AccountCheck::CheckStats() const {
  const scheduler::Stats stats = stage_.scheduler->stats();
  const auto same = [](std::int64_t a, std::int64_t b, const char* words) {
    Require(a == b, words, kNobody, a, b);
  };
  same(stats.waiting, waiting_, "it says %d wait, and %d do");
  same(stats.following, following_, "it says %d follow, and %d do");
  same(stats.running, running_, "it says %d run, and %d do");
  same(stats.computed_prompt_tokens, computed_prompt_,
       "it says %d tokens of prompts were computed, and %d were");
  same(stats.recomputed_tokens, recomputed_, "it says %d tokens were recomputed, and %d were");
  same(stats.preemptions, preemptions_, "it says %d were preempted, and %d were");
  for (std::size_t type = 0; type < dropped_.size(); ++type)
    same(stats.dropped_tokens[type], dropped_[type], "it says %d tokens were dropped, and %d were");
  same(stats.steps, steps_, "it says %d steps, and there were %d");
  same(stats.failed_steps, failed_steps_, "it says %d steps failed, and %d did");
  Require(stage_.scheduler->idle() == (waiting_ + running_ == 0), "it is idle wrongly");
  Require(stats.reserved_pages >= 0 && stats.reserved_pages <= stage_.cache.available_pages(),
          "%d pages are promised, and %d are available", kNobody, stats.reserved_pages,
          stage_.cache.available_pages());
  Require(running_ > 0 || stats.reserved_pages == 0, "%d pages are promised to nobody", kNobody,
          stats.reserved_pages);
  same(stage_.model.computed(), computed_prompt_ + recomputed_ + decoded_ + failed_tokens_,
       "the model computed %d tokens, and %d are accounted for");
}

void AccountCheck::CheckPages() const {
  const radix::Stats stats = stage_.cache.stats();
  const auto count = [&](PageState state) { return stats.pages[static_cast<std::size_t>(state)]; };
  std::int64_t counted[radix::kPageStates] = {};
  for (PageId page = 0; page < stage_.scenario.cache.pages; ++page) {
    ++counted[static_cast<std::size_t>(stage_.cache.page_state(page))];
  }
  for (std::size_t i = 0; i < radix::kPageStates; ++i) {
    Require(counted[i] == stats.pages[i], "%d pages are in state %d, not %d", kNobody, counted[i],
            static_cast<std::int64_t>(i), stats.pages[i]);
  }
  Require(stats.evicted_pages == evicted_, "it says %d pages were evicted, and told of %d", kNobody,
          stats.evicted_pages, evicted_);
  Require(stats.copied_pages == stage_.counts.copies, "it says %d pages were copied, and %d were",
          kNobody, stats.copied_pages, stage_.counts.copies);
  const std::int64_t tree = count(PageState::kTree);
  Require(stats.cached_tokens >= tree && stats.cached_tokens <= tree * stage_.page_size(),
          "it says %d tokens are cached in %d pages", kNobody, stats.cached_tokens, tree);
  const std::int64_t pages = tree + count(PageState::kDetached);
  Require(stats.nodes <= pages && (stats.nodes > 0 || tree == 0), "it says %d nodes have %d pages",
          kNobody, stats.nodes, pages);
  Require(stats.evictable >= 0 && stats.evictable <= count(PageState::kTree),
          "%d pages of %d may be evicted", kNobody, stats.evictable, count(PageState::kTree));
  Require(stage_.cache.available_pages() == count(PageState::kFree) + stats.evictable,
          "%d pages are available", kNobody, stage_.cache.available_pages());
  if (running_ > 0) return;
  // What nobody holds is free or may be evicted, to the last page.
  Require(count(PageState::kFree) + count(PageState::kTree) == stage_.scenario.cache.pages,
          "nothing runs, and %d pages are open, copying, private or detached", kNobody,
          stage_.scenario.cache.pages - count(PageState::kFree) - count(PageState::kTree));
  Require(stats.evictable == count(PageState::kTree), "nothing runs, and %d pages are pinned",
          kNobody, count(PageState::kTree) - stats.evictable);
}

void AccountCheck::CheckUsage(const Client& client) const {
  const scheduler::Usage& usage = client.usage;
  const Tick now = stage_.now();
  const bool admitted = client.admitted_at >= Tick(0);
  const bool answered = client.first_token_at >= Tick(0);
  const std::int64_t output = client.ask == Ask::kStopString
                                  ? std::clamp<std::int64_t>(client.stop_tokens, 0, client.sampled)
                                  : client.sampled;
  const auto same = [&](std::int64_t a, std::int64_t b, const char* words) {
    Require(a == b, words, client.id, a, b);
  };
  same(usage.prompt_tokens, client.prompt_tokens(), "is told of %d tokens of prompt, not %d");
  same(usage.cached_tokens, std::max<std::int64_t>(client.cached, 0),
       "is told that %d tokens were cached, not %d");
  same(usage.output_tokens, output, "is told of %d tokens of output, not %d");
  same(usage.preemptions, client.preemptions, "is told of %d preemptions, not %d");
  const LengthLimit limit =
      client.reason == FinishReason::kLength ? client.limit : LengthLimit::kNone;
  if (client.request.kv_policy) {
    const std::int64_t dropped = client.Dropped(client.high_water);
    same(usage.kept_tokens, client.high_water - dropped, "is told that it keeps %d tokens, not %d");
    same(usage.dropped_tokens, dropped, "is told that %d were dropped, not %d");
    same(usage.unread_tokens, stage_.Unread(client),
         "is told that %d were kept and not read, not %d");
  }
  same(static_cast<std::int64_t>(usage.limit), static_cast<std::int64_t>(limit),
       "is told that limit %d ended it, not %d");
  same(usage.queued.count(), ((admitted ? client.admitted_at : now) - client.since).count(),
       "is told that it waited %d ns, not %d");
  const Tick first = answered ? client.first_token_at : now;
  same(usage.prefill.count(), admitted ? (first - client.admitted_at).count() : 0,
       "is told that its prefill took %d ns, not %d");
  same(usage.decode.count(), answered ? (now - client.first_token_at).count() : 0,
       "is told that its decode took %d ns, not %d");
}

void AccountCheck::OnComputed(Client& client, std::int64_t first, std::int64_t end) {
  const std::int64_t fresh = std::clamp(client.high_water, first, end);
  const std::int64_t in_prompt = std::clamp(client.prompt_tokens(), fresh, end);
  recomputed_ += fresh - first;
  computed_prompt_ += in_prompt - fresh;
  decoded_ += end - in_prompt;
  const std::int64_t before = std::exchange(client.high_water, std::max(client.high_water, end));
  if (client.request.kv_policy) {
    dropped_[static_cast<std::size_t>(client.request.kv_policy->type)] +=
        client.Dropped(client.high_water) - client.Dropped(before);
  }
  stage_.counts.recomputed_tokens += fresh - first;
}

void AccountCheck::OnStep(bool failed) {
  ++steps_;
  if (failed) ++failed_steps_;
}

}  // namespace banyan::sim
