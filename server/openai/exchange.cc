#include "server/openai/exchange.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/openai/reply.h"
#include "server/pending.h"
#include "server/request_record.h"

namespace banyan::server::openai {
namespace {

using scheduler::FinishReason;
using scheduler::Inbox;

http::Error NotTaken(Service& service, const ServedModel& model, Inbox::Submitted submitted) {
  if (submitted == Inbox::Submitted::kClosed) return NotReady(Phase::kDraining);
  const auto waiting = static_cast<std::int64_t>(model.inbox->waiting());
  return {
      .status = 429,
      .code = "queue_full",
      .message = "Too many requests are waiting.",
      .param = "",
      .retry_after_seconds = service.retry_after().Seconds(waiting, model.scheduling.max_running)};
}

// The most events of a request before its end: the admission, scores for a part of the prompt each,
// and the tokens.
std::int64_t Events(const scheduler::Request& request) {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  return 1 + (request.score_prompt ? prompt : 0) + request.max_tokens;
}

}  // namespace

Exchange::Exchange(Service& service, const ServedModel& model, std::string id,
                   const boost::asio::any_io_executor& strand)
    : service_(service),
      model_(model),
      id_(std::move(id)),
      wakeup_(std::make_shared<Wakeup>(strand)) {}

std::optional<http::Error> Exchange::Submit(std::vector<ChoicePlan> plans, Delivery delivery) {
  const auto share = model_.unread_tokens / static_cast<std::int64_t>(plans.size());
  std::vector<scheduler::Request> requests;
  std::vector<Pending*> pendings;
  for (ChoicePlan& plan : plans) {
    const std::int64_t events = Events(plan.request);
    const std::int64_t capacity =
        delivery == Delivery::kStream ? std::min(events, std::max<std::int64_t>(share, 1)) : events;
    auto pending = std::make_unique<Pending>(*model_.inbox, plan.request.id,
                                             static_cast<std::size_t>(capacity), wakeup_);
    plan.request.stream = pending->stream();
    requests.push_back(std::move(plan.request));
    pendings.push_back(pending.get());
    choices_.push_back(
        std::make_unique<Choice>(*model_.codec, std::move(plan), std::move(pending)));
  }
  const Inbox::Submitted submitted = model_.inbox->Submit(std::move(requests));
  if (submitted != Inbox::Submitted::kTaken) return NotTaken(service_, model_, submitted);
  for (Pending* pending : pendings) pending->Taken();
  return std::nullopt;
}

boost::asio::awaitable<void> Exchange::More() {
  co_await wakeup_->Wait();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i]->ended()) continue;
    choices_[i]->Take();
    if (choices_[i]->ended()) Ended(i);
  }
}

void Exchange::Ended(std::size_t index) {
  const Choice& choice = *choices_[index];
  Account({.id = choices_.size() == 1 ? id_ : absl::StrCat(id_, "-", index),
           .reason = choice.reason(),
           .usage = choice.usage()},
          service_.metrics(), service_.retry_after());
  if (choice.complete() || failure_ != FinishReason::kNone) return;
  failure_ = choice.reason();
  Cancel();
}

void Exchange::Cancel() {
  for (const auto& choice : choices_) choice->Cancel();
}

bool Exchange::begun() const {
  return std::any_of(choices_.begin(), choices_.end(),
                     [](const auto& choice) { return choice->begun(); });
}

bool Exchange::ended() const {
  return std::all_of(choices_.begin(), choices_.end(),
                     [](const auto& choice) { return choice->ended(); });
}

TotalUsage Exchange::usage() const {
  TotalUsage total;
  std::int64_t reasoning = 0;
  for (const auto& choice : choices_) {
    const scheduler::Usage& usage = choice->usage();
    total.prompt_tokens += usage.prompt_tokens;
    total.cached_tokens += usage.cached_tokens;
    total.output_tokens += usage.output_tokens;
    total.kept_tokens += usage.kept_tokens;
    total.dropped_tokens += usage.dropped_tokens;
    total.unread_tokens += usage.unread_tokens;
    reasoning += choice->reasoning_tokens();
  }
  if (model_.codec->reasoning() != nullptr) total.reasoning_tokens = reasoning;
  return total;
}

}  // namespace banyan::server::openai
