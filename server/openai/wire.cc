#include "server/openai/wire.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

json::string Text(std::string_view text) { return json::string(text.data(), text.size()); }

json::object Head(const AnswerHead& head, const char* object) {
  json::object out;
  out["id"] = Text(head.id);
  out["object"] = object;
  out["created"] = head.created;
  out["model"] = Text(head.model);
  return out;
}

json::object UsageJson(const scheduler::Usage& usage) {
  json::object details;
  details["cached_tokens"] = usage.cached_tokens;
  json::object out;
  out["prompt_tokens"] = usage.prompt_tokens;
  out["completion_tokens"] = usage.output_tokens;
  out["total_tokens"] = usage.prompt_tokens + usage.output_tokens;
  out["prompt_tokens_details"] = std::move(details);
  return out;
}

std::string ChunkJson(const AnswerHead& head, UsageChunk usage, json::object delta,
                      json::value finish_reason) {
  json::object choice;
  choice["index"] = 0;
  choice["delta"] = std::move(delta);
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = std::move(finish_reason);
  json::array choices;
  choices.push_back(std::move(choice));
  json::object out = Head(head, "chat.completion.chunk");
  out["choices"] = std::move(choices);
  if (usage == UsageChunk::kLast) out["usage"] = nullptr;
  return json::serialize(out);
}

}  // namespace

std::string CompletionJson(const AnswerHead& head, std::string_view text,
                           std::string_view finish_reason, const scheduler::Usage& usage) {
  json::object message;
  message["role"] = "assistant";
  message["content"] = Text(text);
  message["refusal"] = nullptr;
  json::object choice;
  choice["index"] = 0;
  choice["message"] = std::move(message);
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = Text(finish_reason);
  json::array choices;
  choices.push_back(std::move(choice));
  json::object out = Head(head, "chat.completion");
  out["choices"] = std::move(choices);
  out["usage"] = UsageJson(usage);
  return json::serialize(out);
}

std::string RoleChunkJson(const AnswerHead& head, UsageChunk usage) {
  json::object delta;
  delta["role"] = "assistant";
  delta["content"] = "";
  return ChunkJson(head, usage, std::move(delta), nullptr);
}

std::string TextChunkJson(const AnswerHead& head, UsageChunk usage, std::string_view text) {
  json::object delta;
  delta["content"] = Text(text);
  return ChunkJson(head, usage, std::move(delta), nullptr);
}

std::string FinishChunkJson(const AnswerHead& head, UsageChunk usage,
                            std::string_view finish_reason) {
  return ChunkJson(head, usage, json::object(), Text(finish_reason));
}

std::string UsageChunkJson(const AnswerHead& head, const scheduler::Usage& usage) {
  json::object out = Head(head, "chat.completion.chunk");
  out["choices"] = json::array();
  out["usage"] = UsageJson(usage);
  return json::serialize(out);
}

}  // namespace banyan::server::openai
