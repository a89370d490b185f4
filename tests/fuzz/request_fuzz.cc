// Any bytes as the body of a chat request and of a completion request: refused with a 400 or 404
// that says why, or within bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_request.h"
#include "server/openai/conversation.h"

namespace {

using namespace banyan::server::openai;  // NOLINT

constexpr std::int32_t kVocabulary = 100;

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireToken(banyan::TokenId token) { Require(token >= 0 && token < kVocabulary); }

void RequireWhy(const banyan::http::Error& error) {
  Require(error.status == 400 || error.status == 404);
  Require(!error.code.empty() && !error.message.empty());
}

void RequireBounds(const Generation& generation) {
  Require(generation.max_tokens.value_or(0) >= 0);
  Require(generation.min_tokens >= 0 &&
          generation.min_tokens <= generation.max_tokens.value_or(generation.default_max_tokens));
  const banyan::SamplingParams& sampling = generation.sampling;
  Require(sampling.temperature >= 0 && sampling.temperature <= 2);
  Require(sampling.top_k >= 0);
  Require(sampling.top_p > 0 && sampling.top_p <= 1);
  Require(sampling.min_p >= 0 && sampling.min_p <= 1);
  Require(sampling.repetition_penalty > 0);
  Require(sampling.presence_penalty >= -2 && sampling.presence_penalty <= 2);
  Require(sampling.frequency_penalty >= -2 && sampling.frequency_penalty <= 2);
  Require(generation.logit_bias.size() <= kMaxLogitBiases);
  for (const banyan::TokenBias& bias : generation.logit_bias) {
    RequireToken(bias.token);
    Require(bias.bias >= -100 && bias.bias <= 100);
  }
  Require(generation.stop.size() <= banyan::kMaxStopStrings);
  for (const std::string& stop : generation.stop) {
    Require(!stop.empty() && stop.size() <= banyan::kMaxStopStringBytes);
  }
  Require(generation.stop_token_ids.size() <= kMaxStopTokenIds);
  for (const banyan::TokenId token : generation.stop_token_ids) RequireToken(token);
  Require(generation.logprobs.value_or(0) >= 0 &&
          generation.logprobs.value_or(0) <= banyan::kMaxTopLogprobs);
  Require(generation.stream || !generation.include_usage);
}

void TryChat(std::string_view body) {
  const auto request = ParseChatRequest(body, "m", kVocabulary, /*now=*/0);
  if (!request.ok()) return RequireWhy(request.error());
  Require(!request->conversation.messages.empty());
  for (const boost::json::value& message : request->conversation.messages) {
    Require(message.at("role").is_string() && message.at("content").is_string());
  }
  Require(request->conversation.tools.size() <= kMaxTools);
  Require(request->conversation.arguments.size() <= kMaxTemplateArguments);
  RequireBounds(request->generation);
}

void TryCompletion(std::string_view body) {
  const auto request = ParseCompletionRequest(body, "m", kVocabulary);
  if (!request.ok()) return RequireWhy(request.error());
  Require(!request->prompts.empty() && request->prompts.size() <= kMaxPrompts);
  for (const CompletionRequest::Prompt& prompt : request->prompts) {
    const auto* tokens = std::get_if<std::vector<banyan::TokenId>>(&prompt.given);
    if (tokens == nullptr) continue;
    Require(!tokens->empty());
    for (const banyan::TokenId token : *tokens) RequireToken(token);
  }
  RequireBounds(request->generation);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  TryChat(body);
  TryCompletion(body);
  return 0;
}
