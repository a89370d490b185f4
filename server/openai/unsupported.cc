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
    {"function_call", R"(["none"])"},
    {"functions", "[[]]"},
    {"modalities", R"([["text"]])"},
    {"n", "[1]"},
    {"prediction", "[]"},
    {"reasoning_effort", R"(["none"])"},
    {"response_format", R"([{"type":"text"}])"},
    {"service_tier", R"(["auto","default"])"},
    {"store", "[false]"},
    {"verbosity", R"(["medium"])"},
    {"web_search_options", "[]"},
    // vLLM and others
    {"allowed_token_ids", "[]"},
    {"bad_words", "[[]]"},
    {"best_of", "[1]"},
    {"chat_template", "[]"},
    {"continue_final_message", "[false]"},
    {"detokenize", "[true]"},
    {"documents", "[[]]"},
    {"dry_multiplier", "[0]"},
    {"dynatemp_range", "[0]"},
    {"ebnf", "[]"},
    {"epsilon_cutoff", "[0]"},
    {"eta_cutoff", "[0]"},
    {"grammar", R"([""])"},
    {"guided_*", "[]"},
    {"include_stop_str_in_output", "[false]"},
    {"json_schema", "[]"},
    {"kv_transfer_params", "[]"},
    {"length_penalty", "[1]"},
    {"logits_processors", "[[]]"},
    {"lora", "[[]]"},
    {"mirostat", "[0]"},
    {"mirostat_mode", "[0]"},
    {"n_predict", "[-1]"},
    {"n_probs", "[0]"},
    {"no_repeat_ngram_size", "[0]"},
    {"penalty_alpha", "[0]"},
    {"prompt_logprobs", "[false,0]"},
    {"regex", "[]"},
    {"repeat_last_n", "[-1]"},
    {"return_token_ids", "[false]"},
    {"return_tokens_as_token_ids", "[false]"},
    {"samplers", "[[]]"},
    {"skip_special_tokens", "[true]"},
    {"smoothing_factor", "[0]"},
    {"spaces_between_special_tokens", "[true]"},
    {"structural_tag", "[]"},
    {"structured_outputs", "[]"},
    {"suffix", R"([""])"},
    {"tfs_z", "[1]"},
    {"top_a", "[0]"},
    {"top_n_sigma", "[-1,0]"},
    {"truncate_prompt_tokens", "[]"},
    {"typical_p", "[1]"},
    {"use_beam_search", "[false]"},
    {"xtc_probability", "[0]"},
};

// Of one route, where another does them.
constexpr Field kChatFields[] = {
    {"echo", "[false]"},
};
constexpr Field kCompletionFields[] = {
    {"chat_template_kwargs", "[{}]"},
    {"tool_choice", R"(["none"])"},
    {"tools", "[[]]"},
    {"top_logprobs", "[0]"},
};

constexpr Field kMessageFields[] = {
    {"audio", "[]"},
    {"function_call", "[]"},
    {"prefix", "[false]"},
    {"refusal", R"([""])"},
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

std::optional<http::Error> RefuseUnsupported(const json::object& request, Route route) {
  std::span<const Field> of_route;
  if (route == Route::kChat) of_route = kChatFields;
  if (route == Route::kCompletions) of_route = kCompletionFields;
  if (auto error = Refuse(request, of_route, "")) return error;
  return Refuse(request, kRequestFields, "");
}

std::optional<http::Error> RefuseUnsupportedInMessage(const json::object& message,
                                                      const std::string& path) {
  return Refuse(message, kMessageFields, path);
}

}  // namespace banyan::server::openai
