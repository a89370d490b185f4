#include "server/openai/chat.h"

#include <string>
#include <utility>

#include "server/openai/chat_request.h"
#include "server/openai/prompt.h"
#include "server/openai/respond.h"
#include "server/openai/wire.h"

namespace banyan::server::openai {
namespace {

Result<Question> Prepare(Service& service, const ServedModel& model, const std::string& body) {
  const Tick came = service.clock().Now();
  const Result<ChatRequest> chat = ParseChatRequest(
      body, service.model_name(), model.codec->vocabulary_size(), service.NowUnix());
  if (!chat.ok()) return chat.error();
  const Generation& generation = chat->generation;
  const Result<std::optional<scheduler::KvPolicy>> policy =
      PolicyFor(model, generation.kv_policy, generation.prompt_scores);
  if (!policy.ok()) return policy.error();
  Result<ChatPrompt> prompt =
      EncodeChat(model, chat->conversation, chat->added, MostTokens(model, *policy));
  if (!prompt.ok()) return prompt.error();
  Result<scheduler::Request> request =
      MakeRequest(service, model, generation, *policy, std::move(prompt->tokens), "messages");
  if (!request.ok()) return request.error();
  request->submitted = came;

  Question question = MakeQuestion(generation);
  question.format = ChatFormat;
  question.id_kind = "chatcmpl";
  question.prompt_field = "messages";
  ChoicePlan plan{.request = std::move(*request), .answer = AnswerOptions(generation)};
  if (model.codec->reasoning() != nullptr) plan.answer.reasoning = prompt->start;
  question.plans.push_back(std::move(plan));
  return question;
}

}  // namespace

boost::asio::awaitable<void> Chat(Service& service, const http::Request& request,
                                  http::Responder& responder) {
  return Respond(service, request, responder, Prepare);
}

}  // namespace banyan::server::openai
