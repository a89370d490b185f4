#include "server/openai/wire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/openai/json_text.h"
#include "server/openai/logprobs.h"

namespace banyan::server::openai {
namespace {

using Logprobs = FormatOptions::Logprobs;
using LogprobsJson = std::string (*)(const text::Codec&, std::span<const Entry>);

constexpr std::string_view kNull = "null";

std::string UsageJson(const TotalUsage& usage) {
  std::string json = absl::StrCat(
      "{\"prompt_tokens\":", usage.prompt_tokens, ",\"completion_tokens\":", usage.output_tokens,
      ",\"total_tokens\":", usage.prompt_tokens + usage.output_tokens,
      ",\"prompt_tokens_details\":{\"cached_tokens\":", usage.cached_tokens, "}");
  if (usage.reasoning_tokens) {
    absl::StrAppend(&json, ",\"completion_tokens_details\":{\"reasoning_tokens\":",
                    *usage.reasoning_tokens, "}");
  }
  if (usage.kept_tokens > 0) {
    absl::StrAppend(&json, ",\"kv_policy_details\":{\"kept_tokens\":", usage.kept_tokens,
                    ",\"dropped_tokens\":", usage.dropped_tokens,
                    ",\"unread_tokens\":", usage.unread_tokens, "}");
  }
  return json + "}";
}

// One choice: `content` is the member that holds its text.
std::string Choice(std::size_t index, std::string_view content, std::string_view logprobs,
                   std::string_view finish_reason) {
  std::string json = absl::StrCat("{\"index\":", index, ",");
  json += content;
  json += ",\"logprobs\":";
  json += logprobs;
  json += ",\"finish_reason\":";
  json += finish_reason.empty() ? std::string(kNull) : Quoted(finish_reason);
  json += '}';
  return json;
}

// What both formats share: heads, log-probabilities, usage.
class TextFormat : public Format {
 public:
  TextFormat(AnswerHead head, const text::Codec& codec, const FormatOptions& options,
             LogprobsJson logprobs, std::string_view object, std::string_view chunk_object)
      : head_(std::move(head)),
        codec_(codec),
        options_(options),
        logprobs_(logprobs),
        object_(object),
        chunk_object_(chunk_object) {}

  std::optional<std::string> Usage(const TotalUsage& usage) const override {
    if (options_.usage == UsageChunk::kNone) return std::nullopt;
    return Framed(chunk_object_, "", UsageJson(usage));
  }

 protected:
  std::string Answer(std::string_view choices, const TotalUsage& usage) const {
    return Framed(object_, choices, UsageJson(usage));
  }
  std::string Event(std::string_view choice) const {
    return Framed(chunk_object_, choice, options_.usage == UsageChunk::kLast ? kNull : "");
  }
  std::string LogprobsOf(std::span<const Entry> entries) const {
    return options_.logprobs == Logprobs::kWanted ? logprobs_(codec_, entries) : std::string(kNull);
  }
  // Of an event: nothing is said where there is nothing to say.
  std::string EventLogprobs(std::span<const Entry> entries) const {
    return entries.empty() ? std::string(kNull) : LogprobsOf(entries);
  }

 private:
  std::string Framed(std::string_view object, std::string_view choices,
                     std::string_view usage) const {
    std::string json = absl::StrCat("{\"id\":", Quoted(head_.id), ",\"object\":", Quoted(object),
                                    ",\"created\":", head_.created,
                                    ",\"model\":", Quoted(head_.model), ",\"choices\":[");
    json += choices;
    json += ']';
    if (!usage.empty()) {
      json += ",\"usage\":";
      json += usage;
    }
    json += '}';
    return json;
  }

  const AnswerHead head_;
  const text::Codec& codec_;
  const FormatOptions options_;
  const LogprobsJson logprobs_;
  const std::string_view object_;
  const std::string_view chunk_object_;
};

class Chat final : public TextFormat {
 public:
  Chat(AnswerHead head, const text::Codec& codec, const FormatOptions& options)
      : TextFormat(std::move(head), codec, options, ChatLogprobs, "chat.completion",
                   "chat.completion.chunk") {}

  std::string Whole(std::span<const Outcome> choices, const TotalUsage& usage) const override {
    const Outcome& choice = choices.front();
    std::string message = R"("message":{"role":"assistant","content":)";
    message += Quoted(choice.all.text);
    if (!choice.all.reasoning.empty()) {
      message += ",\"reasoning_content\":";
      message += Quoted(choice.all.reasoning);
    }
    message += ",\"refusal\":null}";
    return Answer(Choice(0, message, LogprobsOf(choice.all.entries), choice.finish_reason), usage);
  }

  std::optional<std::string> Opening() const override {
    return Event(Choice(0, R"("delta":{"role":"assistant","content":""})", kNull, ""));
  }
  std::string Chunk(std::size_t choice, const Delta& delta) const override {
    std::string members;
    if (!delta.reasoning.empty()) {
      AppendItem(members, "\"reasoning_content\":" + Quoted(delta.reasoning));
    }
    if (!delta.text.empty() || members.empty()) {
      AppendItem(members, "\"content\":" + Quoted(delta.text));
    }
    return Event(Choice(choice, absl::StrCat("\"delta\":{", members, "}"),
                        EventLogprobs(delta.entries), ""));
  }
  std::string Finish(std::size_t choice, std::string_view finish_reason) const override {
    return Event(Choice(choice, "\"delta\":{}", kNull, finish_reason));
  }
};

class Completion final : public TextFormat {
 public:
  Completion(AnswerHead head, const text::Codec& codec, const FormatOptions& options)
      : TextFormat(std::move(head), codec, options, CompletionLogprobs, "text_completion",
                   "text_completion") {}

  std::string Whole(std::span<const Outcome> choices, const TotalUsage& usage) const override {
    std::string list;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      AppendItem(list, Choice(i, TextOf(choices[i].all.text), LogprobsOf(choices[i].all.entries),
                              choices[i].finish_reason));
    }
    return Answer(list, usage);
  }

  std::optional<std::string> Opening() const override { return std::nullopt; }
  std::string Chunk(std::size_t choice, const Delta& delta) const override {
    return Event(Choice(choice, TextOf(delta.text), EventLogprobs(delta.entries), ""));
  }
  std::string Finish(std::size_t choice, std::string_view finish_reason) const override {
    return Event(Choice(choice, TextOf(""), kNull, finish_reason));
  }

 private:
  static std::string TextOf(std::string_view text) { return "\"text\":" + Quoted(text); }
};

}  // namespace

std::unique_ptr<const Format> ChatFormat(AnswerHead head, const text::Codec& codec,
                                         const FormatOptions& options) {
  return std::make_unique<const Chat>(std::move(head), codec, options);
}

std::unique_ptr<const Format> CompletionFormat(AnswerHead head, const text::Codec& codec,
                                               const FormatOptions& options) {
  return std::make_unique<const Completion>(std::move(head), codec, options);
}

}  // namespace banyan::server::openai
