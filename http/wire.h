// The bytes of answers. Knows no socket.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace banyan::http {

// What becomes of the connection after the answer.
enum class Persistence {
  kKeepAlive,
  kKeepAlive10,  // a client of HTTP/1.0 wants to be told
  kClose,
};

// How the client knows where an event stream ends.
enum class Framing { kChunked, kUntilClose };

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Status line, headers and the empty line for `response`, whose body has a Content-Length. Line
// breaks and NULs in header values become spaces, so that no value can add a header.
std::string ResponseHead(const Response& response, Persistence persistence);
std::string EventStreamHead(Framing framing, Persistence persistence);

// "data: <event>\n\n" for each event, as one chunk where `framing` says so; nothing for no events,
// because an empty chunk would end the stream.
std::string EventBytes(const std::vector<std::string>& events, Framing framing);

// True for statuses whose answers never have a body.
bool HasNoBody(int status);

}  // namespace banyan::http
