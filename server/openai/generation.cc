#include "server/openai/generation.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "scheduler/scheduler.h"
#include "server/openai/prompt.h"
#include "server/openai/token_ids.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

void ParseLength(Fields& fields, Generation& generation) {
  for (const std::string_view name : {"max_tokens", "max_completion_tokens"}) {  // the newer last
    const std::optional<std::int64_t> given = fields.Integer(name, 0, kNoLimit);
    if (!given) continue;
    generation.max_tokens = given;
    generation.max_tokens_field = name;
  }
  generation.min_tokens = fields.Integer("min_tokens", 0, kNoLimit).value_or(0);
  const std::int64_t most = generation.max_tokens.value_or(generation.default_max_tokens);
  if (generation.min_tokens > most) {
    fields.Refuse("min_tokens",
                  absl::StrCat("'min_tokens' is ", generation.min_tokens,
                               ", but the answer may have at most ", most, " tokens."));
  }
}

void ParseTopP(Fields& fields, SamplingParams& sampling) {
  const std::optional<double> top_p = fields.Number("top_p", 0, 1);
  if (!top_p) return;
  sampling.top_p = static_cast<float>(*top_p);  // what underflows is 0
  if (sampling.top_p <= 0) fields.Refuse("top_p", "'top_p' must be over 0 and at most 1.");
}

void ParseSampling(Fields& fields, SamplingParams& sampling) {
  const auto number = [&](std::string_view name, double low, double high, float& value) {
    if (const auto given = fields.Number(name, low, high)) value = static_cast<float>(*given);
  };
  number("temperature", 0, 2, sampling.temperature);
  ParseTopP(fields, sampling);
  if (const auto top_k = fields.Integer("top_k", -1, std::numeric_limits<std::int32_t>::max())) {
    sampling.top_k = std::max(static_cast<std::int32_t>(*top_k), 0);  // -1 is all, as 0 is
  }
  number("min_p", 0, 1, sampling.min_p);
  number("repeat_penalty", kMinRepetitionPenalty, kMaxRepetitionPenalty,
         sampling.repetition_penalty);
  number("repetition_penalty", kMinRepetitionPenalty, kMaxRepetitionPenalty,
         sampling.repetition_penalty);
  number("presence_penalty", -2, 2, sampling.presence_penalty);
  number("frequency_penalty", -2, 2, sampling.frequency_penalty);
}

// As it is written without a sign or leading zeros, so that no two names are the same token.
std::optional<TokenId> TokenOfName(std::string_view name, std::int32_t vocabulary_size) {
  TokenId token = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), token);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  const bool canonical = name.size() == 1 || !name.starts_with('0');
  if (!whole || !canonical || token < 0 || token >= vocabulary_size) return std::nullopt;
  return token;
}

void ParseLogitBias(Fields& fields, std::int32_t vocabulary_size, std::vector<TokenBias>& biases) {
  const json::object* object = fields.Object("logit_bias");
  if (object == nullptr) return;
  if (object->size() > kMaxLogitBiases) {
    return fields.Refuse(
        "logit_bias", absl::StrCat("'logit_bias' must have at most ", kMaxLogitBiases, " tokens."));
  }
  Fields values(*object, "logit_bias");
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    const std::optional<TokenId> token = TokenOfName(name, vocabulary_size);
    if (!token) {
      return fields.Refuse(
          "logit_bias",
          absl::StrCat("'logit_bias' has '", std::string(name.substr(0, 32)),
                       "', which is not a token id from 0 to ", vocabulary_size - 1, "."));
    }
    const std::optional<double> bias = values.Number(name, -100, 100);
    if (values.error()) return fields.Refuse(*values.error());
    if (bias) biases.push_back({.token = *token, .bias = static_cast<float>(*bias)});
  }
}

void ParseStops(Fields& fields, std::vector<std::string>& stops) {
  const json::value* value = fields.Any("stop");
  if (value == nullptr) return;
  auto add = [&](const json::value& one, const std::string& name) {
    const json::string* text = one.if_string();
    if (text == nullptr) {
      fields.Refuse(name, absl::StrCat("'", name, "' must be a string, not ",
                                       std::string(KindName(one)), "."));
    } else if (text->empty() || text->size() > kMaxStopStringBytes) {
      fields.Refuse(name,
                    absl::StrCat("'", name, "' must have 1 to ", kMaxStopStringBytes, " bytes."));
    } else {
      stops.emplace_back(*text);
    }
  };
  if (value->is_string()) return add(*value, "stop");
  const json::array* list = value->if_array();
  if (list == nullptr) {
    return fields.Refuse("stop", "'stop' must be a string or an array of strings.");
  }
  if (list->size() > kMaxStopStrings) {
    return fields.Refuse("stop",
                         absl::StrCat("'stop' must have at most ", kMaxStopStrings, " strings."));
  }
  for (std::size_t i = 0; i < list->size(); ++i) add((*list)[i], absl::StrCat("stop[", i, "]"));
}

void ParseStopTokens(Fields& fields, std::int32_t vocabulary_size, std::vector<TokenId>& stops) {
  const json::array* list = fields.Array("stop_token_ids");
  if (list == nullptr) return;
  if (list->size() > kMaxStopTokenIds) {
    return fields.Refuse("stop_token_ids", absl::StrCat("'stop_token_ids' must have at most ",
                                                        kMaxStopTokenIds, " tokens."));
  }
  Result<std::vector<TokenId>> tokens = ParseTokenIds(*list, "stop_token_ids", vocabulary_size);
  if (!tokens.ok()) return fields.Refuse(tokens.error());
  stops = std::move(*tokens);
}

void ParseStream(Fields& fields, Generation& generation) {
  generation.stream = fields.Bool("stream").value_or(false);
  const json::object* options = fields.Object("stream_options");
  if (options == nullptr) return;
  if (!generation.stream) {
    return fields.Refuse("stream_options", "'stream_options' is allowed only with 'stream': true.");
  }
  Fields inner(*options, "stream_options");
  generation.include_usage = inner.Bool("include_usage").value_or(false);
  if (inner.Bool("continuous_usage_stats").value_or(false)) {
    inner.Refuse("continuous_usage_stats",
                 "'stream_options.continuous_usage_stats' is not supported yet.");
  }
  if (inner.error()) fields.Refuse(*inner.error());
}

void ParseSharing(Fields& fields, Generation& generation) {
  if (const std::optional<std::string_view> salt = fields.Text("cache_salt")) {
    if (salt->empty() || salt->size() > kMaxCacheSaltBytes) {
      fields.Refuse("cache_salt",
                    absl::StrCat("'cache_salt' must have 1 to ", kMaxCacheSaltBytes, " bytes."));
    }
    generation.cache_salt = *salt;
  }
  generation.priority =
      static_cast<std::int32_t>(fields.Integer("priority", 0, scheduler::kMaxPriority).value_or(0));
}

// Of an answer whose length nobody gave. One that no context bounds has to end somewhere, too.
std::int64_t DefaultLength(const ServedModel& model, const Generation& generation,
                           const std::optional<scheduler::KvPolicy>& policy, std::int64_t left) {
  std::int64_t most = left;
  if (policy) {
    most = std::min(left, std::max(model.scheduling.context_length, generation.min_tokens));
  }
  if (generation.logprobs) most = std::min(most, kMaxScoredTokens);
  return std::min(generation.default_max_tokens, most);
}

}  // namespace

Generation ParseGeneration(Fields& fields, std::int32_t vocabulary_size,
                           std::int64_t default_max_tokens) {
  Generation generation;
  generation.default_max_tokens = default_max_tokens;
  ParseLength(fields, generation);
  ParseSampling(fields, generation.sampling);
  generation.seed = fields.Bits("seed");
  ParseLogitBias(fields, vocabulary_size, generation.logit_bias);
  ParseStops(fields, generation.stop);
  ParseStopTokens(fields, vocabulary_size, generation.stop_token_ids);
  generation.ignore_eos = fields.Bool("ignore_eos").value_or(false);
  ParseStream(fields, generation);
  ParseSharing(fields, generation);
  generation.kv_policy = ParseKvPolicy(fields);
  return generation;
}

Result<scheduler::Request> MakeRequest(Service& service, const ServedModel& model,
                                       const Generation& generation,
                                       const std::optional<scheduler::KvPolicy>& policy,
                                       std::vector<TokenId> prompt, std::string_view prompt_field) {
  const auto prompt_tokens = static_cast<std::int64_t>(prompt.size());
  const absl::Status fits =
      scheduler::CheckFits(model.scheduling, model.cache, prompt_tokens, /*max_tokens=*/-1, policy);
  if (!fits.ok()) return TooLong(prompt_field, Sentence(fits.message()));
  const std::int64_t most = MostTokens(model, policy);
  const std::int64_t left = most - prompt_tokens;
  const auto check = [&](std::string_view field,
                         std::int64_t tokens) -> std::optional<http::Error> {
    if (tokens <= left) return std::nullopt;
    return TooLong(field, absl::StrCat("The prompt has ", prompt_tokens, " tokens and '",
                                       std::string(field), "' is ", tokens, ": together over ",
                                       most == model.scheduling.context_length ? "the context of "
                                                                               : "the most of ",
                                       most, "."));
  };
  if (auto error = check(generation.max_tokens_field, generation.max_tokens.value_or(0))) {
    return *std::move(error);
  }
  if (auto error = check("min_tokens", generation.min_tokens)) return *std::move(error);

  scheduler::Request request;
  request.id = service.NextRequestId();
  request.cache_salt = generation.cache_salt;
  request.priority = generation.priority;
  request.prompt = std::move(prompt);
  request.max_tokens =
      generation.max_tokens.value_or(DefaultLength(model, generation, policy, left));
  request.min_tokens = generation.min_tokens;
  request.sampling = generation.sampling;
  request.sampling.seed = generation.seed ? *generation.seed : service.RandomSeed();
  request.logit_bias = generation.logit_bias;
  request.end_tokens = generation.stop_token_ids;
  if (!generation.ignore_eos) {
    const std::span<const TokenId> ends = model.codec->end_tokens();
    request.end_tokens.insert(request.end_tokens.end(), ends.begin(), ends.end());
  }
  std::sort(request.end_tokens.begin(), request.end_tokens.end());
  const auto last = std::unique(request.end_tokens.begin(), request.end_tokens.end());
  request.end_tokens.erase(last, request.end_tokens.end());
  request.wants_logprobs = generation.logprobs.has_value();
  request.top_logprobs = generation.logprobs.value_or(0);
  request.score_prompt = generation.prompt_scores == PromptScores::kWanted;
  request.kv_policy = policy;
  return request;
}

}  // namespace banyan::server::openai
