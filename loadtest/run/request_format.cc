#include "loadtest/run/request_format.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "loadtest/client/json_text.h"

namespace banyan::loadtest {
namespace {

namespace json = boost::json;

absl::StatusOr<json::object> ParseExtra(const std::string& text) {
  if (text.empty()) return json::object();
  json::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object()) {
    return absl::InvalidArgumentError("the extra body is not a JSON object: " + text);
  }
  for (const char* member : {"messages", "prompt", "model"}) {
    if (value.get_object().contains(member)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the extra body may not hold \"", member, "\""));
    }
  }
  return value.get_object();
}

}  // namespace

absl::StatusOr<RequestFormat> RequestFormat::Create(const RequestOptions& options) {
  const absl::StatusOr<json::object> extra = ParseExtra(options.extra_body);
  if (!extra.ok()) return extra.status();

  RequestFormat format;
  format.api_ = options.api;
  format.head_ = "{\"model\":";
  AppendQuoted(options.model, format.head_);
  format.head_ += options.api == Api::kChat ? ",\"messages\":[" : ",\"prompt\":\"";

  json::object members;
  members["temperature"] = options.temperature;
  members["stream"] = true;
  members["stream_options"] = json::object{{"include_usage", true}};
  for (const auto& member : *extra) members[member.key()] = member.value();
  if (members["stream"] == false && !extra->contains("stream_options")) {
    members.erase("stream_options");  // refused by servers where nothing is streamed
  }
  std::string text = json::serialize(members);
  text.pop_back();
  text.front() = ',';
  format.tail_ = (options.api == Api::kChat ? "]" : "\"") + text;
  format.max_tokens_ = !extra->contains("max_tokens") && !extra->contains("max_completion_tokens");
  format.ignore_eos_ = options.ignore_eos && !extra->contains("ignore_eos");
  return format;
}

std::string_view RequestFormat::path() const {
  return api_ == Api::kChat ? "/v1/chat/completions" : "/v1/completions";
}

void RequestFormat::AppendTail(std::int64_t output_tokens, std::string& body) const {
  body += tail_;
  if (output_tokens > 0 && max_tokens_) absl::StrAppend(&body, ",\"max_tokens\":", output_tokens);
  if (output_tokens > 0 && ignore_eos_) body += ",\"ignore_eos\":true";
  body += '}';
}

}  // namespace banyan::loadtest
