#include "server/openai/unsupported.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

struct Field {
  std::string_view name;     // a trailing '*' takes every name that begins so
  std::string_view neutral;  // a JSON array of the values that change nothing, besides null
};

constexpr Field kRequestFields[] = {
    // OpenAI
    {"audio", "[]"},
    {"frequency_penalty", "[0]"},
    {"function_call", R"(["none"])"},
    {"functions", "[[]]"},
    {"logit_bias", "[{}]"},
    {"logprobs", "[false]"},
    {"modalities", R"([["text"]])"},
    {"n", "[1]"},
    {"prediction", "[]"},
    {"presence_penalty", "[0]"},
    {"reasoning_effort", R"(["none"])"},
    {"response_format", R"([{"type":"text"}])"},
    {"service_tier", R"(["auto","default"])"},
    {"store", "[false]"},
    {"tool_choice", R"(["none"])"},
    {"tools", "[[]]"},
    {"top_logprobs", "[0]"},
    {"verbosity", R"(["medium"])"},
    {"web_search_options", "[]"},
    // vLLM and others
    {"add_generation_prompt", "[true]"},
    {"add_special_tokens", "[false,true]"},  // tokenizers that add some are refused at start
    {"allowed_token_ids", "[]"},
    {"bad_words", "[[]]"},
    {"best_of", "[1]"},
    {"cache_salt", "[]"},
    {"chat_template", "[]"},
    {"chat_template_kwargs", "[{}]"},
    {"continue_final_message", "[false]"},
    {"detokenize", "[true]"},
    {"documents", "[[]]"},
    {"dry_multiplier", "[0]"},
    {"ebnf", "[]"},
    {"echo", "[false]"},
    {"grammar", R"([""])"},
    {"guided_*", "[]"},
    {"include_stop_str_in_output", "[false]"},
    {"json_schema", "[]"},
    {"kv_policy", "[]"},
    {"kv_transfer_params", "[]"},
    {"length_penalty", "[1]"},
    {"logits_processors", "[[]]"},
    {"lora", "[[]]"},
    {"min_p", "[0]"},
    {"min_tokens", "[0]"},
    {"mirostat", "[0]"},
    {"n_predict", "[-1]"},
    {"priority", "[0]"},
    {"regex", "[]"},
    {"prompt_logprobs", "[false,0]"},
    {"repeat_penalty", "[1]"},
    {"repetition_penalty", "[1]"},
    {"return_token_ids", "[false]"},
    {"return_tokens_as_token_ids", "[false]"},
    {"samplers", "[[]]"},
    {"skip_special_tokens", "[true]"},
    {"spaces_between_special_tokens", "[true]"},
    {"stop_token_ids", "[[]]"},
    {"structural_tag", "[]"},
    {"structured_outputs", "[]"},
    {"tfs_z", "[1]"},
    {"top_k", "[0,-1]"},
    {"truncate_prompt_tokens", "[]"},
    {"typical_p", "[1]"},
    {"use_beam_search", "[false]"},
    {"xtc_probability", "[0]"},
};

constexpr Field kMessageFields[] = {
    {"audio", "[]"},        {"function_call", "[]"}, {"prefix", "[false]"},
    {"refusal", R"([""])"}, {"tool_call_id", "[]"},  {"tool_calls", "[[]]"},
};

bool Matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// 1 and 1.0 are the same number here.
bool Same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

bool Neutral(const json::value& value, std::string_view neutral) {
  if (value.is_null()) return true;
  const json::value values = json::parse(json::string_view(neutral.data(), neutral.size()));
  const json::array& list = values.get_array();
  return std::any_of(list.begin(), list.end(),
                     [&](const json::value& one) { return Same(one, value); });
}

std::optional<http::Error> Refuse(const json::object& object, std::span<const Field> fields,
                                  std::string_view path) {
  for (const auto& member : object) {
    const std::string_view name(member.key().data(), member.key().size());
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& one) { return Matches(one.name, name); });
    if (field == fields.end() || Neutral(member.value(), field->neutral)) continue;
    const std::string param =
        path.empty() ? std::string(name) : absl::StrCat(std::string(path), ".", std::string(name));
    return Invalid(param, absl::StrCat("'", param, "' is not supported yet",
                                       field->neutral == "[]" ? "." : " with this value."));
  }
  return std::nullopt;
}

}  // namespace

std::optional<http::Error> RefuseUnsupported(const json::object& request) {
  return Refuse(request, kRequestFields, "");
}

std::optional<http::Error> RefuseUnsupportedInMessage(const json::object& message,
                                                      const std::string& path) {
  return Refuse(message, kMessageFields, path);
}

}  // namespace banyan::server::openai
