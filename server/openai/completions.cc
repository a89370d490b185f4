#include "server/openai/completions.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "server/openai/completion_request.h"
#include "server/openai/prompt.h"
#include "server/openai/respond.h"
#include "server/openai/wire.h"

namespace banyan::server::openai {
namespace {

// The prompt is the caller's own: control tokens spelled in it are control tokens.
Result<std::vector<TokenId>> Tokens(const ServedModel& model, const CompletionRequest& completion,
                                    const CompletionRequest::Prompt& prompt,
                                    std::int64_t most_tokens) {
  if (const auto* tokens = std::get_if<std::vector<TokenId>>(&prompt.given)) return *tokens;
  Result<std::vector<TokenId>> tokens =
      EncodeText(model, std::get<std::string>(prompt.given), text::ControlTokens::kRecognize,
                 completion.added, prompt.field, most_tokens);
  if (tokens.ok() && tokens->empty()) {
    return Invalid(prompt.field, absl::StrCat("'", prompt.field, "' comes to no tokens."));
  }
  return tokens;
}

Result<ChoicePlan> Plan(Service& service, const ServedModel& model,
                        const CompletionRequest& completion,
                        const CompletionRequest::Prompt& prompt) {
  const Generation& generation = completion.generation;
  const Result<std::optional<scheduler::KvPolicy>> policy =
      PolicyFor(model, generation.kv_policy, generation.prompt_scores);
  if (!policy.ok()) return policy.error();
  Result<std::vector<TokenId>> tokens =
      Tokens(model, completion, prompt, MostTokens(model, *policy));
  if (!tokens.ok()) return tokens.error();
  Result<scheduler::Request> request =
      MakeRequest(service, model, generation, *policy, std::move(*tokens), prompt.field);
  if (!request.ok()) return request.error();
  ChoicePlan plan{.request = std::move(*request), .answer = AnswerOptions(generation)};
  if (!completion.echo) return plan;
  const std::string* text = std::get_if<std::string>(&prompt.given);
  plan.echo.emplace(*model.codec,
                    text != nullptr ? *text : ToValidUtf8(model.codec->Decode(plan.request.prompt)),
                    plan.request.prompt);
  plan.answer.offset = plan.echo->characters();
  return plan;
}

Result<Question> Prepare(Service& service, const ServedModel& model, const std::string& body) {
  const Tick came = service.clock().Now();
  const Result<CompletionRequest> completion =
      ParseCompletionRequest(body, service.model_name(), model.codec->vocabulary_size());
  if (!completion.ok()) return completion.error();
  if (completion->prompts.size() > model.inbox->max_queue()) {
    return Invalid("prompt", absl::StrCat("'prompt' has ", completion->prompts.size(),
                                          " prompts; the queue of this server has room for ",
                                          model.inbox->max_queue(), "."));
  }
  Question question = MakeQuestion(completion->generation);
  question.format = CompletionFormat;
  question.id_kind = "cmpl";
  question.prompt_field = "prompt";
  for (const CompletionRequest::Prompt& prompt : completion->prompts) {
    Result<ChoicePlan> plan = Plan(service, model, *completion, prompt);
    if (!plan.ok()) return plan.error();
    plan->request.submitted = came;
    question.plans.push_back(std::move(*plan));
  }
  return question;
}

}  // namespace

boost::asio::awaitable<void> Completions(Service& service, const http::Request& request,
                                         http::Responder& responder) {
  return Respond(service, request, responder, Prepare);
}

}  // namespace banyan::server::openai
