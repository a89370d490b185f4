#include "server/openai/completion_request.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/openai/body.h"
#include "server/openai/fields.h"
#include "server/openai/token_ids.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;
using Prompt = CompletionRequest::Prompt;

Result<Prompt> ParsePrompt(const json::value& value, const std::string& field,
                           std::int32_t vocabulary_size) {
  if (const json::string* text = value.if_string()) return Prompt{field, std::string(*text)};
  const json::array* list = value.if_array();
  if (list == nullptr) {
    return Invalid(field, absl::StrCat("'", field, "' must be a string or an array of token ids, ",
                                       "not ", std::string(KindName(value)), "."));
  }
  Result<std::vector<TokenId>> tokens = ParseTokenIds(*list, field, vocabulary_size);
  if (!tokens.ok()) return tokens.error();
  if (tokens->empty()) return Invalid(field, absl::StrCat("'", field, "' must not be empty."));
  return Prompt{field, std::move(*tokens)};
}

// One string, strings, one array of token ids, or arrays of them.
Result<std::vector<Prompt>> ParsePrompts(const Fields& fields, std::int32_t vocabulary_size) {
  const json::value* value = fields.Any("prompt");
  if (value == nullptr) return Invalid("prompt", "'prompt' is missing.");
  std::vector<Prompt> prompts;
  const json::array* list = value->if_array();
  if (list == nullptr || list->empty() || list->front().is_number()) {
    Result<Prompt> prompt = ParsePrompt(*value, "prompt", vocabulary_size);
    if (!prompt.ok()) return prompt.error();
    prompts.push_back(std::move(*prompt));
    return prompts;
  }
  if (list->size() > kMaxPrompts) {
    return Invalid("prompt", absl::StrCat("'prompt' must have at most ", kMaxPrompts, " prompts."));
  }
  prompts.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string field = absl::StrCat("prompt[", i, "]");
    Result<Prompt> prompt = ParsePrompt((*list)[i], field, vocabulary_size);
    if (!prompt.ok()) return prompt.error();
    prompts.push_back(std::move(*prompt));
  }
  return prompts;
}

}  // namespace

Result<CompletionRequest> ParseCompletionRequest(std::string_view body, std::string_view model_name,
                                                 std::int32_t vocabulary_size) {
  const Result<json::object> object = ParseBody(body, model_name, Route::kCompletions);
  if (!object.ok()) return object.error();
  Fields fields(*object, "");
  Result<std::vector<Prompt>> prompts = ParsePrompts(fields, vocabulary_size);
  if (!prompts.ok()) return prompts.error();
  CompletionRequest request;
  request.prompts = std::move(*prompts);
  if (!fields.Bool("add_special_tokens").value_or(true)) {
    request.added = text::AddedTokens::kNone;
  }
  request.echo = fields.Bool("echo").value_or(false);
  request.generation = ParseGeneration(fields, vocabulary_size, kDefaultCompletionTokens);
  if (const auto logprobs = fields.Integer("logprobs", 0, kMaxTopLogprobs)) {
    request.generation.logprobs = static_cast<std::int32_t>(*logprobs);
    if (request.echo) request.generation.prompt_scores = PromptScores::kWanted;
  }
  if (fields.error()) return *fields.error();
  return request;
}

}  // namespace banyan::server::openai
