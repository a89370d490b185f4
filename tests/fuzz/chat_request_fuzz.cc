// Any bytes as the body of a chat request: refused with a 400 or 404 that says why, or within
// bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"
#include "server/openai/chat_request.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto request = banyan::server::openai::ParseChatRequest(body, "m");
  if (!request.ok()) {
    const banyan::http::Error& error = request.error();
    Require(error.status == 400 || error.status == 404);
    Require(!error.code.empty() && !error.message.empty());
    return 0;
  }
  Require(!request->messages.empty());
  Require(request->max_tokens.value_or(1) >= 1);
  Require(request->temperature >= 0 && request->temperature <= 2);
  Require(request->top_p > 0 && request->top_p <= 1);
  Require(request->stop.size() <= banyan::kMaxStopStrings);
  for (const std::string& stop : request->stop) {
    Require(!stop.empty() && stop.size() <= banyan::kMaxStopStringBytes);
  }
  Require(request->stream || !request->include_usage);
  return 0;
}
