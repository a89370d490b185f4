#include "server/openai/prompt.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace banyan::server::openai {
namespace {

// The rooms below begin their messages in lower case and without a full stop.
std::string Sentence(absl::string_view message) {
  std::string sentence(message);
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') {
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  }
  if (!sentence.empty() && sentence.back() != '.') sentence += '.';
  return sentence;
}

http::Error TooLong(std::string message) {
  http::Error error = Invalid("messages", std::move(message));
  error.code = "context_length_exceeded";
  return error;
}

}  // namespace

Result<std::vector<TokenId>> EncodeChat(const ServedModel& model,
                                        const text::Conversation& conversation) {
  const text::Codec& codec = *model.codec;
  const absl::StatusOr<std::vector<text::Piece>> pieces = codec.Render(conversation);
  if (!pieces.ok()) return Invalid("messages", Sentence(pieces.status().message()));
  std::size_t bytes = 0;
  for (const text::Piece& piece : *pieces) bytes += piece.text.size();
  const auto context = static_cast<std::size_t>(model.scheduling.context_length);
  if (bytes / codec.longest_token_bytes() > context) {
    return TooLong(absl::StrCat("The messages have ", bytes, " bytes: more than the context of ",
                                context, " tokens can hold."));
  }
  absl::StatusOr<std::vector<TokenId>> tokens = codec.Encode(*pieces);
  if (!tokens.ok()) return Invalid("messages", Sentence(tokens.status().message()));
  if (tokens->empty()) return Invalid("messages", "The messages come to no tokens.");
  return *std::move(tokens);
}

Result<scheduler::Request> MakeRequest(Service& service, const ServedModel& model,
                                       const ChatRequest& chat) {
  scheduler::Request request;
  request.submitted = service.clock().Now();
  Result<std::vector<TokenId>> prompt = EncodeChat(model, {.messages = chat.messages});
  if (!prompt.ok()) return prompt.error();
  request.prompt = std::move(*prompt);

  const auto prompt_tokens = static_cast<std::int64_t>(request.prompt.size());
  const absl::Status fits = scheduler::CheckFits(model.scheduling, model.cache, prompt_tokens,
                                                 chat.max_tokens.value_or(-1));
  if (!fits.ok()) {
    return TooLong(Sentence(fits.message()));
  }
  request.max_tokens = chat.max_tokens.value_or(model.scheduling.context_length - prompt_tokens);
  request.sampling.temperature = chat.temperature;
  request.sampling.top_p = chat.top_p;
  request.sampling.seed = chat.seed ? *chat.seed : service.RandomSeed();
  if (!chat.ignore_eos) {
    const std::span<const TokenId> ends = model.codec->end_tokens();
    request.end_tokens.assign(ends.begin(), ends.end());
  }
  return request;
}

}  // namespace banyan::server::openai
