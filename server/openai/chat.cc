#include "server/openai/chat.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/openai/answer.h"
#include "server/openai/chat_request.h"
#include "server/openai/prompt.h"
#include "server/openai/reply.h"
#include "server/openai/wire.h"
#include "server/pending.h"
#include "server/request_record.h"

namespace banyan::server::openai {
namespace {

namespace asio = boost::asio;
using scheduler::CancelReason;
using scheduler::FinishReason;
using scheduler::Inbox;
using scheduler::StreamEvent;

http::Error EndError(FinishReason reason) {
  switch (reason) {
    case FinishReason::kSlowReader:
      return {.status = 500,
              .code = "slow_reader",
              .message = "The stream was not read fast enough and was ended.",
              .param = ""};
    case FinishReason::kRefused:
      return {.status = 400,
              .code = "context_length_exceeded",
              .message = "The request can never fit.",
              .param = "messages"};
    case FinishReason::kShutdown:
      return NotReady(Phase::kDraining);
    default:
      return {.status = 500,
              .code = "engine_error",
              .message = "A step of the engine failed; the answer could not be completed.",
              .param = ""};
  }
}

// One answer under way: takes the engine's events, keeps the text and the end.
class Exchange {
 public:
  Exchange(Service& service, const ServedModel& model, const ChatRequest& chat,
           std::shared_ptr<Pending> pending)
      : service_(service), pending_(std::move(pending)), answer_(*model.codec, chat.stop) {}

  // Waits for the next events; returns the text that became certain with them.
  asio::awaitable<std::string> More() {
    co_await pending_->Take(events_);
    std::string text;
    for (const StreamEvent& event : events_) {
      if (event.kind == StreamEvent::Kind::kToken) {
        text += answer_.Push(event.token);
        if (answer_.stopped()) pending_->Cancel(CancelReason::kStopString, answer_.tokens());
      } else if (event.kind == StreamEvent::Kind::kFinished) {
        text += answer_.Finish();
        End(event);
      }
    }
    co_return text;
  }

  void ClientGone() { pending_->Cancel(CancelReason::kClientGone); }

  bool ended() const { return reason_ != FinishReason::kNone; }
  bool complete() const {
    return reason_ == FinishReason::kStop || reason_ == FinishReason::kLength;
  }
  bool has_tokens() const { return answer_.tokens() > 0; }
  FinishReason reason() const { return reason_; }
  const scheduler::Usage& usage() const { return usage_; }

  // Once, when ended, before the client hears of it: who has its answer finds it in the metrics.
  void Account(const std::string& id) const {
    server::Account({.id = id, .reason = reason_, .usage = usage_}, service_.metrics(),
                    service_.retry_after());
  }

 private:
  void End(const StreamEvent& event) {
    reason_ = event.reason;
    usage_ = event.usage;
    // The engine may have run on, and even ended the request, before it heard of the stop string.
    if (answer_.stopped() && reason_ != FinishReason::kCancelled) {
      reason_ = FinishReason::kStop;
      usage_.output_tokens = answer_.tokens();
    }
  }

  Service& service_;
  const std::shared_ptr<Pending> pending_;
  Answer answer_;
  std::vector<StreamEvent> events_;
  FinishReason reason_ = FinishReason::kNone;
  scheduler::Usage usage_;
};

asio::awaitable<void> SendWhole(Service& service, http::Responder& responder, Exchange& exchange,
                                const AnswerHead& head) {
  std::string text;
  while (!exchange.ended()) {
    const std::string more = co_await exchange.More();
    text += more;
  }
  exchange.Account(head.id);
  if (exchange.complete()) {
    co_await Reply(responder,
                   CompletionJson(head, text, FinishName(exchange.reason()), exchange.usage()));
  } else if (exchange.reason() != FinishReason::kCancelled) {
    co_await Refuse(service, responder, EndError(exchange.reason()));
  }
}

// The last events of a stream that has begun.
std::vector<std::string> LastEvents(Service& service, const Exchange& exchange,
                                    const AnswerHead& head, UsageChunk usage) {
  std::vector<std::string> events;
  if (!exchange.complete()) {
    const http::Error error = EndError(exchange.reason());
    service.metrics().CountHttpError(error.code);
    events.push_back(http::ErrorBody(error));
    return events;
  }
  events.push_back(FinishChunkJson(head, usage, FinishName(exchange.reason())));
  if (usage == UsageChunk::kLast) events.push_back(UsageChunkJson(head, exchange.usage()));
  events.emplace_back(kDone);
  return events;
}

asio::awaitable<void> SendStream(Service& service, http::Responder& responder, Exchange& exchange,
                                 const AnswerHead& head, UsageChunk usage) {
  std::string text;
  while (!exchange.ended() && !exchange.has_tokens()) {
    const std::string more = co_await exchange.More();
    text += more;
  }
  const bool begun = exchange.has_tokens() || exchange.complete();
  std::vector<std::string> events;
  if (begun) {
    co_await responder.StartEvents();
    events.push_back(RoleChunkJson(head, usage));
    if (!text.empty()) events.push_back(TextChunkJson(head, usage, text));
  }
  while (!exchange.ended()) {
    if (!events.empty()) {
      const bool there = co_await responder.Events(std::move(events));
      if (!there) exchange.ClientGone();
      events.clear();
    }
    text = co_await exchange.More();
    if (!text.empty()) events.push_back(TextChunkJson(head, usage, text));
  }
  exchange.Account(head.id);
  if (exchange.reason() == FinishReason::kCancelled) co_return;
  if (!begun) {
    co_await Refuse(service, responder, EndError(exchange.reason()));
    co_return;
  }
  for (std::string& event : LastEvents(service, exchange, head, usage)) {
    events.push_back(std::move(event));
  }
  co_await responder.FinishEvents(std::move(events));
}

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

}  // namespace

asio::awaitable<void> Chat(Service& service, const http::Request& request,
                           http::Responder& responder) {
  const ServedModel* model = service.model();
  if (model == nullptr) {
    co_await Refuse(service, responder, NotReady(service.phase()));
    co_return;
  }
  const Result<ChatRequest> chat = ParseChatRequest(request.body, service.model_name());
  if (!chat.ok()) {
    co_await Refuse(service, responder, chat.error());
    co_return;
  }
  Result<scheduler::Request> made = MakeRequest(service, *model, *chat);
  if (!made.ok()) {
    co_await Refuse(service, responder, made.error());
    co_return;
  }
  const RequestId id = service.NextRequestId();
  const std::int64_t events = made->max_tokens + 1;  // with the admission
  const std::int64_t capacity = chat->stream ? std::min(events, model->unread_tokens) : events;
  const auto pending = std::make_shared<Pending>(
      *model->inbox, id, static_cast<std::size_t>(capacity), responder.executor());
  const Inbox::Submitted submitted = pending->Submit(std::move(*made));
  if (submitted != Inbox::Submitted::kTaken) {
    co_await Refuse(service, responder, NotTaken(service, *model, submitted));
    co_return;
  }
  responder.OnDisconnect([pending] { pending->Cancel(CancelReason::kClientGone); });

  Exchange exchange(service, *model, *chat, pending);
  const AnswerHead head{service.WireId(id), service.NowUnix(), service.model_name()};
  if (chat->stream) {
    co_await SendStream(service, responder, exchange, head,
                        chat->include_usage ? UsageChunk::kLast : UsageChunk::kNone);
  } else {
    co_await SendWhole(service, responder, exchange, head);
  }
}

}  // namespace banyan::server::openai
