// The body of POST /v1/chat/completions, checked.
// https://platform.openai.com/docs/api-reference/chat/create
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/openai/result.h"

namespace banyan::server::openai {

struct ChatRequest {
  boost::json::array messages;             // at least one; {"role", "content"} both strings
  std::optional<std::int64_t> max_tokens;  // >= 1
  float temperature = 1.0F;                // 0..2
  float top_p = 1.0F;                      // 0 < top_p <= 1
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;  // as StopMatcher takes them
  bool ignore_eos = false;
  bool stream = false;
  bool include_usage = false;  // with stream only
};

// `model_name` is what the request's "model", where given, must be. The error is that of the first
// fault found, with its field named.
Result<ChatRequest> ParseChatRequest(std::string_view body, std::string_view model_name);

// The member "messages" of `request`; also for /tokenize.
Result<boost::json::array> ParseMessages(const boost::json::object& request);

// 404 model_not_found.
http::Error ModelNotFound(std::string_view asked, std::string_view served);

}  // namespace banyan::server::openai
