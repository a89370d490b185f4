#include "server/openai/respond.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/openai/reply.h"
#include "server/request_record.h"

namespace banyan::server::openai {
namespace {

namespace asio = boost::asio;
using scheduler::FinishReason;

http::Error EndError(FinishReason reason, std::string_view prompt_field) {
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
              .param = std::string(prompt_field)};
    case FinishReason::kShutdown:
      return NotReady(Phase::kDraining);
    default:
      return {.status = 500,
              .code = "engine_error",
              .message = "A step of the engine failed; the answer could not be completed.",
              .param = ""};
  }
}

std::optional<http::Error> CheckScored(const Question& question) {
  std::int64_t tokens = 0;
  for (const ChoicePlan& plan : question.plans) {
    if (!plan.answer.entries) continue;
    tokens += plan.request.max_tokens;
    if (plan.request.score_prompt) tokens += static_cast<std::int64_t>(plan.request.prompt.size());
  }
  if (tokens <= kMaxScoredTokens) return std::nullopt;
  return Invalid("logprobs", absl::StrCat("The answer may have log-probabilities of ", tokens,
                                          " tokens; at most ", kMaxScoredTokens, " are given."));
}

// One answer under way, and how it is told.
class Answering {
 public:
  Answering(Service& service, http::Responder& responder, Exchange& exchange, const Format& format,
            std::string_view prompt_field)
      : service_(service),
        responder_(responder),
        exchange_(exchange),
        format_(format),
        prompt_field_(prompt_field),
        told_(exchange.choices().size(), false) {}

  asio::awaitable<void> Whole() {
    while (!exchange_.ended()) co_await exchange_.More();
    if (!exchange_.complete()) {
      co_await Refused();
      co_return;
    }
    std::vector<Outcome> outcomes;
    for (const auto& choice : exchange_.choices()) {
      outcomes.push_back({choice->TakeDelta(), FinishName(choice->reason())});
    }
    co_await Reply(responder_, format_.Whole(outcomes, exchange_.usage()));
  }

  asio::awaitable<void> Stream() {
    while (!exchange_.ended() && !exchange_.begun()) co_await exchange_.More();
    if (!exchange_.begun()) {
      co_await Refused();
      co_return;
    }
    co_await responder_.StartEvents();
    std::vector<std::string> events;
    if (std::optional<std::string> opening = format_.Opening()) events.push_back(*opening);
    AppendNews(events);
    while (!exchange_.ended()) {
      if (!events.empty()) {
        const bool there = co_await responder_.Events(std::move(events));
        if (!there) exchange_.Cancel();
        events.clear();
      }
      co_await exchange_.More();
      AppendNews(events);
    }
    if (exchange_.failure() == FinishReason::kCancelled) co_return;
    AppendLast(events);
    co_await responder_.FinishEvents(std::move(events));
  }

 private:
  // Nothing of an answer was sent.
  asio::awaitable<void> Refused() {
    if (exchange_.failure() == FinishReason::kCancelled) co_return;  // there is nobody to tell
    co_await Refuse(service_, responder_, EndError(exchange_.failure(), prompt_field_));
  }

  void AppendNews(std::vector<std::string>& events) {
    for (std::size_t i = 0; i < told_.size(); ++i) {
      Choice& choice = *exchange_.choices()[i];
      if (choice.has_news()) events.push_back(format_.Chunk(i, choice.TakeDelta()));
      if (!choice.complete() || told_[i]) continue;
      events.push_back(format_.Finish(i, FinishName(choice.reason())));
      told_[i] = true;
    }
  }

  void AppendLast(std::vector<std::string>& events) {
    if (!exchange_.complete()) {
      const http::Error error = EndError(exchange_.failure(), prompt_field_);
      service_.metrics().CountHttpError(error.code);
      events.push_back(http::ErrorBody(error));
      return;
    }
    if (std::optional<std::string> usage = format_.Usage(exchange_.usage())) {
      events.push_back(*std::move(usage));
    }
    events.emplace_back(kDone);
  }

  Service& service_;
  http::Responder& responder_;
  Exchange& exchange_;
  const Format& format_;
  const std::string_view prompt_field_;
  std::vector<bool> told_;  // of each choice, that it has ended
};

asio::awaitable<void> Ask(Service& service, const ServedModel& model, http::Responder& responder,
                          Question question) {
  const std::string id = service.WireId(question.id_kind, question.plans.front().request.id);
  const auto exchange = std::make_shared<Exchange>(service, model, id, responder.executor());
  if (auto error = exchange->Submit(std::move(question.plans), question.delivery)) {
    co_await Refuse(service, responder, *std::move(error));
    co_return;
  }
  responder.OnDisconnect([weak = std::weak_ptr(exchange)] {
    if (const auto there = weak.lock()) there->Cancel();
  });
  const AnswerHead head{.id = id, .created = service.NowUnix(), .model = service.model_name()};
  const auto format = question.format(head, *model.codec, question.format_options);
  Answering answering(service, responder, *exchange, *format, question.prompt_field);
  if (question.delivery == Delivery::kStream) {
    co_await answering.Stream();
  } else {
    co_await answering.Whole();
  }
}

}  // namespace

Question MakeQuestion(const Generation& generation) {
  Question question;
  if (generation.stream) question.delivery = Delivery::kStream;
  if (generation.include_usage) question.format_options.usage = UsageChunk::kLast;
  if (generation.logprobs) question.format_options.logprobs = FormatOptions::Logprobs::kWanted;
  return question;
}

Answer::Options AnswerOptions(const Generation& generation) {
  return {.stops = generation.stop,
          .min_tokens = generation.min_tokens,
          .entries = generation.logprobs.has_value()};
}

asio::awaitable<void> Respond(Service& service, const http::Request& request,
                              http::Responder& responder,
                              Result<Question> (*prepare)(Service&, const ServedModel&,
                                                          const std::string&)) {
  const ServedModel* model = service.model();
  if (model == nullptr) {
    co_await Refuse(service, responder, NotReady(service.phase()));
    co_return;
  }
  Result<Question> question = prepare(service, *model, request.body);
  if (!question.ok()) {
    co_await Refuse(service, responder, question.error());
    co_return;
  }
  if (auto error = CheckScored(*question)) {
    co_await Refuse(service, responder, *std::move(error));
    co_return;
  }
  co_await Ask(service, *model, responder, std::move(*question));
}

}  // namespace banyan::server::openai
